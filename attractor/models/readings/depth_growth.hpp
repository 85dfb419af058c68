// How fast nearby streams part with depth: the largest Lyapunov exponents of the directions of all
// tokens, theta_i = x_i/|x_i|, along the layers of one text. Perturbations of directions, dx_i =
// |x_i| dtheta_i with dtheta_i orthogonal to theta_i, are carried by the derivative of each layer
// and made orthonormal after it; what that takes off,
//
//   growth_k(layer) = ln |part of perturbation k orthogonal to those before it|,
//
// is the k-th exponent of the layer, and their mean over layers (but for the first, in which random
// perturbations still turn) that of the model. Below 0: streams come together, as in a collapse.
#pragma once

#include <cstdint>
#include <vector>

#include "attractor/models/pass.hpp"

namespace attractor::models {

class DepthGrowth {
 public:
  /// Plants `count` random perturbations into a pass that has not begun.
  DepthGrowth(Pass& pass, std::size_t count, std::uint64_t seed);

  /// After each step of the pass.
  void measure();

  /// growth[layer][k].
  const std::vector<std::vector<double>>& growth() const { return growth_; }
  /// The mean over all layers but the first; of one layer its own.
  std::vector<double> exponents() const;

 private:
  std::vector<std::vector<double>> directions() const;
  void plant(const std::vector<std::vector<double>>& unit);

  Pass& pass_;
  std::vector<std::vector<double>> growth_;
};

}  // namespace attractor::models
