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
#pragma once

#include <array>
#include <string_view>

namespace attractor {

enum class LayerRule { softmax, unnormalised, hardmax, sinkhorn, linear, relu, radial };
enum class RadialKernel { gaussian, laplace, cauchy, epanechnikov, indicator };

inline constexpr std::array kLayerRules = {
    LayerRule::softmax, LayerRule::unnormalised, LayerRule::hardmax, LayerRule::sinkhorn,
    LayerRule::linear,  LayerRule::relu,         LayerRule::radial};
inline constexpr std::array kRadialKernels = {RadialKernel::gaussian, RadialKernel::laplace,
                                              RadialKernel::cauchy, RadialKernel::epanechnikov,
                                              RadialKernel::indicator};

/// By the names of the table; throw Error on another one.
LayerRule layer_rule_named(std::string_view name);
RadialKernel radial_kernel_named(std::string_view name);
std::string_view name(LayerRule rule);
std::string_view name(RadialKernel kernel);

/// ln phi at squared distance r^2; minus infinity outside the support.
double log_kernel(RadialKernel kernel, double beta, double squared_distance);

}  // namespace attractor
