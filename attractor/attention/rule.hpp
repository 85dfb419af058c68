// The rules that turn the logits l_ij of one row into weights P_ij, m_i being the number of tokens
// that token i sees:
//
//   sa        e^l / sum e^l           hardmax  uniform over the largest l (beta = infinity)
//   usa       e^l / m_i               sinkhorn e^{l + f_i + g_j}, rows and columns sum to 1
//   linear    l / m_i                 relu     max(0, l) / m_i
//   radial    phi(r_ij) / sum phi, or phi / m_i, with r_ij = |Q x_i - K x_j| and phi one of
//             gaussian e^{-beta r^2/2}, laplace e^{-beta r}, cauchy 1/(1 + beta r^2),
//             epanechnikov max(0, 1 - beta r^2/2), indicator 1 if beta r^2 <= 1 (bounded
//             confidence), else 0
//
// Layers (attention_layer.hpp) know all of them; fused sums over pairs (attention.hpp), engines in
// O(n), densities and reductions are about sa and usa.
#pragma once

#include "attractor/base/named.hpp"

namespace attractor {

enum class Rule { softmax, unnormalised, hardmax, sinkhorn, linear, relu, radial };
std::span<const std::string_view> names(Rule);

enum class RadialKernel { gaussian, laplace, cauchy, epanechnikov, indicator };
std::span<const std::string_view> names(RadialKernel);

/// sa or usa.
inline bool is_exponential(Rule rule) {
  return rule == Rule::softmax || rule == Rule::unnormalised;
}

/// ln phi at squared distance r^2; minus infinity outside the support.
double log_kernel(RadialKernel kernel, double beta, double squared_distance);

}  // namespace attractor
