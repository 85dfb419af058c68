#include "papers/metastability/three_caps.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace attractor::papers {

std::vector<double> cap_centres() {
  const double half = kCapDegrees * std::numbers::pi / 360,
               third = kThirdDegrees * std::numbers::pi / 180;
  const double x = std::cos(third) / std::cos(half);
  return {std::cos(half),      std::sin(half), 0, std::cos(half), -std::sin(half), 0, x, 0,
          std::sqrt(1 - x * x)};
}

std::vector<double> cap_tokens(double rho) {
  const std::vector<double> centres = cap_centres();
  std::vector<double> tokens;
  for (std::size_t cap = 0; cap < kCaps; ++cap) {
    const double* y = &centres[3 * cap];
    // Tangents: one within the plane of y and e_3 or, for the third cap, of y and e_2.
    std::array<double, 3> u{0, cap == 2 ? 1.0 : 0.0, cap == 2 ? 0.0 : 1.0};
    const std::array<double, 3> v{y[1] * u[2] - y[2] * u[1], y[2] * u[0] - y[0] * u[2],
                                  y[0] * u[1] - y[1] * u[0]};
    for (const auto& direction : {u, v})
      for (const double sign : {1.0, -1.0})
        for (std::size_t c = 0; c < 3; ++c)
          tokens.push_back(std::cos(rho) * y[c] + sign * std::sin(rho) * direction[c]);
  }
  return tokens;
}

double widest_cap(std::span<const double> tokens) {
  double widest = 0;
  for (std::size_t cap = 0; cap < kCaps; ++cap) {
    const double* x = &tokens[cap * kCapTokens * 3];
    std::array<double, 3> centre{};
    for (std::size_t k = 0; k < 3 * kCapTokens; ++k) centre[k % 3] += x[k] / kCapTokens;
    for (std::size_t i = 0; i < kCapTokens; ++i)
      widest = std::max(widest, std::hypot(x[3 * i] - centre[0], x[3 * i + 1] - centre[1],
                                           x[3 * i + 2] - centre[2]));
  }
  return widest;
}

double cap_time(double beta, double from, double to) {
  // In ln rho, by Simpson's rule; the integrand is smooth and tends to 1.
  constexpr int kPieces = 4000;
  const double h = std::log(from / to) / kPieces;
  double sum = 0;
  for (int k = 0; k <= kPieces; ++k) {
    const double rho = to * std::exp(h * k), s = std::sin(rho), a = std::exp(-beta * s * s);
    const double weight = k == 0 || k == kPieces ? 1 : k % 2 == 1 ? 4 : 2;
    sum += weight * (1 + 2 * a + a * a) / (2 * (a + a * a)) * rho / (s * std::cos(rho));
  }
  return sum * h / 3;
}

}  // namespace attractor::papers
