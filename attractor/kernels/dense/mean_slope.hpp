// How the mean of g under softmax moves with the logits s of T tokens:
//
//   w_t = e^{s_t} / sum_u e^{s_u},   mean = sum_t w_t g_t,   d mean / d s_t = w_t (g_t - mean)
//
// told so that nothing cancels or vanishes however far the logits are apart: the slope is
// e^{log_weight} c_t for t != a, the token of largest logit, and mean - g_a = e^{log_weight} mean'.
// Weights of tokens with the g of token a do not set the scale: only the others move anything.
// O(T), one exponential a token.
#pragma once

#include <cstddef>
#include <span>

namespace attractor::kernels {

struct MeanSlope {
  double mean, log_weight;
  double excess;  // mean - g_a itself
};

/// s: the logits, which become the weights; c: what the slope is, c_a = 0. All of one size.
/// NaN among the logits makes mean NaN.
MeanSlope mean_slope(std::span<double> s, std::span<const double> g, std::size_t a,
                     std::span<double> c);

}  // namespace attractor::kernels
