// How much of a trained head is the attention of the theory, l_ij = beta cos(x_i, x_j)? Softmax
// does not see what a row adds to all its logits, so rows are centred first; over the pairs i != j
// that are seen,
//
//   l_ij - mean_i l  =  beta (c_ij - mean_i c) + rest_ij      least squares: beta is beta_eff,
//
// r2 the part of the variance within rows that this explains. The rest may be a function of the
// distance j - i (position), of the key j alone (sinks), or of something else; the parts that each
// explains alone, and all three together (found by backfitting), are stated beside it. Queries and
// keys need not play alike: `antisymmetric` is |L - L^T|^2 / 4 |L|^2 of the logits of all pairs of
// different tokens, rows and columns centred: 0 for a symmetric head, 1/2 without preference.
//
// The standard error of beta takes rows as independent and pairs of a row not.
// Cost: about 100 n^2.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

namespace attractor::models {

struct HeadFit {
  double beta = 0, error = 0;                  // beta_eff and its standard error
  double r2 = 0;                               // explained by the cosine alone
  double position = 0, key = 0, together = 0;  // explained by these alone; by all three
  double antisymmetric = 0;
  double own = 0;        // logit of a token with itself above the line, on average
  double deviation = 0;  // standard deviation of logits within rows
};

/// logits, cosines: n x n. NaN where nothing varies.
HeadFit fit_head(std::span<const double> logits, std::span<const double> cosines, std::size_t n,
                 const std::function<bool(std::size_t i, std::size_t j)>& sees);

/// Where attention goes. chances: n x n, rows sum to 1 over what is seen.
struct HeadUse {
  double entropy = 0;        // of a row, mean, nats
  double entropy_ratio = 0;  // over ln of how many are seen (rows that see more than one)
  double own = 0;            // weight of a token on itself, mean
  double sink = 0;           // largest share of all attention that one key takes, over those that
                             // see it
  std::size_t sink_token = 0;
};
HeadUse use_of_head(std::span<const double> chances, std::size_t n,
                    const std::function<bool(std::size_t i, std::size_t j)>& sees);

}  // namespace attractor::models
