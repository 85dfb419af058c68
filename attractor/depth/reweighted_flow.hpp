// Weighted tokens that move and are re-weighted: the Wasserstein-Fisher-Rao gradient flow of the
// energy E = sum_ij w_i w_j e^{beta <x_i, x_j>} / (2 beta) on the sphere, sum of w = 1, upward.
// With the field F_i = sum_j w_j e^{beta <x_i, x_j>} / beta,
//
//   x_i' = P_i sum_j w_j e^{beta <x_i, x_j>} x_j,      w_i' = rate w_i (F_i - sum_j w_j F_j),
//
// so dE/dt = sum_i w_i |x_i'|^2 + rate Var_w(F) >= 0; rate = 0 is USA with fixed masses. A state
// has dim + 1 numbers a token, x_i and ln w_i: weights of 1e-300 keep their digits, and their sum
// stays 1 of itself, to the tolerance of the steps. Time runs in units of e^{-beta}. Cost O(n^2
// dim).
#pragma once

#include <span>
#include <vector>

#include "attractor/flow/flow.hpp"

namespace attractor::depth {

/// A sphere beside a line: unit vectors of R^{dim - 1} and one free number behind them.
class WeightedSphere final : public Space {
 public:
  explicit WeightedSphere(std::size_t sphere_dim) : Space(sphere_dim + 1), sphere_(sphere_dim) {}
  const char* name() const override { return "weighted sphere"; }
  void retract(std::span<double> point) const override;
  void project(std::span<const double> point, std::span<double> vector) const override;
  double distance(std::span<const double> a, std::span<const double> b) const override;
  bool compact() const override { return false; }
  double scale(std::span<const double>) const override { return 1; }

 private:
  Sphere sphere_;
};

struct Reweighting {
  double beta = 1;  // above 0 to 700
  double rate = 1;  // 0 to 1e6
  std::size_t dim = 2;
};

class ReweightedFlow final : public flow::Flow {
 public:
  /// Throws Error with the value and what is allowed.
  explicit ReweightedFlow(const Reweighting& setup);

  /// Of unit vectors (n x dim) and weights above 0, in any unit.
  std::vector<double> state_of(std::span<const double> tokens,
                               std::span<const double> weights) const;
  /// e^beta / (2 beta) at one point is the most there is.
  double energy(std::span<const double> state) const;

  const Space& space() const override { return space_; }
  double log_unit() const override { return -setup_.beta; }
  void drift(std::span<const double> state, double log_unit, std::span<double> out) const override;

 private:
  struct Fields;
  Fields fields(std::span<const double> state) const;

  Reweighting setup_;
  WeightedSphere space_;
};

}  // namespace attractor::depth
