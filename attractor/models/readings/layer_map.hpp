// A trained layer against the theory of equiangular tokens (reductions/equiangular.hpp): n tokens
// with mean cosine g, inverse temperature beta_eff, values the identity. With a_i what attention
// wrote for token i, the layer is x <- x + h A, |A| being what the theory writes, and the weight of
// attention
//
//   h = mean_i |a_i| / (mean_i |x_i| |A|),        predicted cosine: the layer map at (g, beta, n,
//   h)
//
// Heads with different beta move equiangular tokens together as one head would whose weight on
// another token, p = 1 / (e^{beta (1-g)} + n - 1), is the mean of theirs: the joint beta.
//
// Effective time of a layer: how long the flow of the theory (post-norm, softmax) takes from the
// cosine before to the cosine after; negative where the cosine fell, the time of the way back.
#pragma once

#include <cstddef>
#include <span>

namespace attractor::models {

/// Where tokens are when a layer begins, and what it does.
struct LayerPlace {
  double tokens = 2;  // n
  double cosine = 0;  // mean cosine of pairs
  double beta = 0;    // below 0 counts as 0
  double step = 1;    // h
};

/// The beta of one head that moves tokens as these do together; NaN are left out.
double joint_beta(std::span<const double> betas, double tokens, double cosine);

/// |A| at a place: how long attention with identity values would be.
double written_length(const LayerPlace& place);

/// The mean cosine after the layer; NaN where the theory has no such place.
double predicted_cosine(const LayerPlace& place);

/// Signed time from one cosine to another; NaN where one of them is out of reach.
double effective_time(const LayerPlace& from, double cosine_after);

}  // namespace attractor::models
