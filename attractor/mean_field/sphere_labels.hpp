// Mean field on S^{d-1} without any symmetry, in its labels: points x_i of weight w_i move by
//
//   x_i' = P_i sum_j w_j e^{beta <x_i,x_j>} x_j / {sum_j w_j e^{beta <x_i,x_j>} (SA) or 1 (USA)}.
//
// Equal weights and random points are the particle system. Points of a quadrature rule, weighted by
// a smooth density, are the density itself: on S^2 the product of a Gauss rule in height and equal
// angles around the axis integrates harmonics of degree < 2 n exactly, so errors fall faster than
// any power of n until the density concentrates. Cost O(n^2 d) a drift.
//
// Why this is no depth::TokenFlow: points are nodes of a rule that keep their weights and never
// coalesce, and the sums are those of attention/attention.hpp, called without what tokens need
// around them.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "attractor/attention/attention.hpp"
#include "attractor/flow/flow.hpp"
#include "attractor/mean_field/start_density.hpp"

namespace attractor::meanfield {

class WeightedTokens final : public flow::Flow {
 public:
  /// Attention on the sphere with Q = K = V = I. Positive weights of any sum; they are divided by
  /// it.
  WeightedTokens(std::size_t dim, Rule rule, double beta, std::vector<double> weights);

  const Space& space() const override { return space_; }
  void drift(std::span<const double> state, double log_unit, std::span<double> out) const override;
  double log_unit() const override { return log_unit_; }

  std::span<const double> weights() const { return weights_; }
  /// E x.
  std::vector<double> mean(std::span<const double> state) const;
  /// ln of E = (1/2 beta) sum_ij w_i w_j e^{beta <x_i,x_j>}; at beta = 0 of |E x|^2/2.
  double log_energy(std::span<const double> state) const;

 private:
  Attention attention_;
  Sphere space_;
  double log_unit_;
  std::vector<double> weights_;
  mutable AttentionSums sums_;  // scratch, reused between evaluations
};

/// The density on S^2 at 2 n^2 points: n heights times 2n angles. Weights of sum one; no points at
/// all where the density vanishes at every one of them.
WeightedPoints sphere_grid(std::size_t heights,
                           const std::function<double(std::span<const double>)>& density);

}  // namespace attractor::meanfield
