// The other half of a transformer block: F(x) = strength W_2 act(W_1 x + b), applied to each token
// on its own. In a flow it adds to attention (the parallel block), x' = ... A(x) + F(x).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace attractor::depth {

enum class Activation { none, relu, gelu };
/// "none", "relu", "gelu"; throws Error on another name.
Activation activation_named(std::string_view name);
std::string_view name(Activation activation);

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
