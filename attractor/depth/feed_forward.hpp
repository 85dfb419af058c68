// The other half of a transformer block: F(x) = strength W_2 act(W_1 x + b), applied to each token
// on its own. In a flow it adds to attention (the parallel block), x' = ... A(x) + F(x).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attractor/base/named.hpp"

namespace attractor::depth {

using attractor::name;

enum class Activation { none, relu, gelu };
std::span<const std::string_view> names(Activation);

struct FeedForward {
  Activation activation = Activation::none;  // none: F = 0
  std::size_t dim = 0, width = 0;
  std::vector<double> in;    // W_1: width x dim
  std::vector<double> bias;  // b: width
  std::vector<double> out;   // W_2: dim x width
  double strength = 1;

  bool present() const { return activation != Activation::none; }
  /// out_i += factor F(x_i) for rows of tokens (n x dim).
  void add(std::span<const double> tokens, double factor, std::span<double> result) const;
};

/// Gaussian weights, W_1 of variance 1/dim, W_2 of variance 1/width, zero bias; keyed by seed and
/// period.
FeedForward draw_feed_forward(Activation activation, std::size_t dim, std::size_t width,
                              double strength, std::uint64_t seed, std::uint64_t period);

}  // namespace attractor::depth
