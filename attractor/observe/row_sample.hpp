// Means over all original tokens of something that one row of the matrix of pairs says, from a few
// rows. Rows are drawn in strata: tokens of alike mass that have alike weight close by, found for
// every token beforehand (close_weights.hpp). A cluster of twelve among a million is then a stratum
// of its own, read whole; what stays in one stratum differs by a small factor, so its scatter is
// known from the rows drawn. With M_h the mass of stratum h, N_h its tokens, n_h its rows:
//
//   mean   = sum_h (M_h / N) y_h,   y_h = sum_k m_k y_k / sum_k m_k         over its rows
//   error^2 = sum_h (N_h / N)^2 (1 - n_h/N_h) s_h^2 / n_h,   s_h^2 = variance of m_k (y_k - y_h)
//
// with two and a half more rows as far from the mean as the farthest one drawn: few rows of a
// skewed distribution tell too little of its scatter. A stratum read whole has no error. Two things
// rows may not show are kept apart, for the caller to count: `unseen` originals are missed by all
// rows of the stratum once in e times; `unlike` is how far the close weights of its tokens lie, in
// sum, beyond the range of those of the rows drawn (and three of their own standard errors).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace attractor::observe {

/// What a search says of every token before rows are drawn.
struct CloseWeights {
  std::vector<double> weight;   // of the tokens close to it, `known` included; in part estimated
  std::vector<double> known;    // the part that was summed token by token
  std::vector<double> power;    // of that part: its share of the dissipation, in a unit of its own
  std::vector<double> noise;    // standard error of what was not
  std::vector<double> ceiling;  // no single pair that the search left out weighs more
  std::vector<char> complete;   // nothing but `known` is close
};

struct Stratum {
  std::size_t begin = 0, end = 0;        // its rows
  double tokens = 0, mass = 0;           // of all its tokens
  double heaviest = 0;                   // largest mass of one
  double ceiling = 0;                    // mean over its tokens
  double unlike = 0, unlike_mass = 0;    // sum of mass times excess of weight; mass with any
  double unlike_rest = 0;                // the same of the weights beyond what is known
  bool complete = false;                 // for all its tokens
  bool whole_wanted = false;             // a few tokens that stand out
  std::vector<std::uint32_t> members{};  // while rows are drawn

  double rows() const { return static_cast<double>(end - begin); }
  bool whole() const { return rows() == tokens; }
  double unseen() const { return whole() ? 0 : heaviest * tokens / rows(); }
};

struct RowSample {
  std::vector<std::uint32_t> rows;
  std::vector<Stratum> strata;
  bool sampled = false;
};

struct Estimate {
  double value = 0, error = 0;
};

RowSample all_rows(std::span<const double> masses);
/// About `rows` to 2 `rows` of them.
RowSample sample_rows(std::span<const double> masses, const CloseWeights& close, std::size_t rows,
                      std::uint64_t seed, std::string_view name);

/// values: one per row of the sample.
Estimate mean_over_originals(const RowSample& sample, std::span<const double> masses,
                             std::span<const double> values);

}  // namespace attractor::observe
