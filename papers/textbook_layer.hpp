// One layer of attention in plain arithmetic, as in a textbook: what the kernels must compute.
//
//   x_i <- normalise(x_i + step sum_j softmax_j(beta <x_i, B x_j> + ln m_j) V x_j)
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace attractor::papers {

struct Textbook {
  std::size_t dim = 2;
  double beta = 1, step = 0.1;
  std::vector<double> interaction{}, value{};  // B, V; empty: the identity
  std::vector<double> masses{};                // m; empty: 1
  bool tangent = false;  // without the part of the sum along x_i: a step of Euler
};
/// Tokens: n x dim, row-major.
std::vector<double> textbook_layer(std::span<const double> tokens, const Textbook& layer);

}  // namespace attractor::papers
