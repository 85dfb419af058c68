// A trained layer against the theory of equiangular tokens (reductions/equiangular.hpp): n tokens
// with mean cosine g, inverse temperature beta_eff, values the identity. With a_i what attention
// wrote for token i, the layer is x <- x + h A, |A| being what the theory writes, and the weight of
// attention
//
//   h = mean_i |a_i| / (mean_i |x_i| |A|),        predicted cosine: the layer map at (g, beta, n,
//   h)
//
// Effective time of a layer: how long the flow of the theory (post-norm, softmax) takes from the
// cosine before to the cosine after; negative where the cosine fell, the time of the way back.
#pragma once

#include <cstddef>

namespace attractor::models {

/// Where tokens are when a layer begins, and what it does.
struct LayerPlace {
  double tokens = 2;  // n
  double cosine = 0;  // mean cosine of pairs
  double beta = 0;    // below 0 counts as 0
  double step = 1;    // h
};

/// |A| at a place: how long attention with identity values would be.
double written_length(const LayerPlace& place);

/// The mean cosine after the layer; NaN where the theory has no such place.
double predicted_cosine(const LayerPlace& place);

/// Signed time from one cosine to another; NaN where one of them is out of reach.
double effective_time(const LayerPlace& from, double cosine_after);

}  // namespace attractor::models
