// Three caps of four tokens on S^2, the first two 70 degrees apart, the third 100 degrees from
// both. A cap is a cross: tokens at angle rho from its centre, in four orthogonal directions, so
// that its centre feels no pull of its own. Alone it keeps that shape, and under softmax attention
//
//   rho' = -sin rho cos rho 2(a + a^2) / (1 + 2a + a^2),   a = e^{-beta sin^2 rho}.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace attractor::papers {

inline constexpr std::size_t kCaps = 3, kCapTokens = 4;
inline constexpr double kCapDegrees = 70, kThirdDegrees = 100;

/// 3 x 3: a row for each centre.
std::vector<double> cap_centres();
/// 12 x 3, cap by cap.
std::vector<double> cap_tokens(double rho);
/// The largest distance of a token from the mean of its cap.
double widest_cap(std::span<const double> tokens);
/// The time that a cap alone takes from angle `from` down to `to`.
double cap_time(double beta, double from, double to);

}  // namespace attractor::papers
