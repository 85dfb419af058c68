// Tokens on the sphere in three dimensions under attention with Q = K = V = I, in O(n) an
// evaluation (kernels/sphere_field.hpp). With weights of sum 1
//
//   SA   x_i' = P_i sum_j w_j e^{beta <x_i, x_j>} x_j / sum_j w_j e^{beta <x_i, x_j>}
//   USA  x_i' = P_i sum_j w_j e^{beta <x_i, x_j>} x_j,   natural unit e^{-beta}
//
// A state is n x 3 unit vectors. run() puts tokens of one cell side by side at the start, and again
// when they have mixed: neighbours in memory make an evaluation nearly twice as fast. order() keeps
// their numbers. drift() is right for any order.
//
// Error of a velocity in the natural unit: USA `accuracy`, SA 2 accuracy / Z_i with Z_i the
// partition sum of the token, 1 if all others are near. It is absolute: a motion slower than that
// (clusters approaching each other over times e^{c beta}, the last contraction of a cluster that
// lies across the edge of two cells) is not resolved. resolves() says so; dense rows of coalesced
// tokens (attention_flow.hpp) then keep relative accuracy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attractor/attention/attention.hpp"
#include "attractor/flow/flow.hpp"
#include "attractor/kernels/sphere_field.hpp"

namespace attractor::depth {

struct SphereFlowSettings {
  Rule rule = Rule::softmax;
  double beta = 1;          // 0 .. 1e4
  double accuracy = 1e-11;  // 1e-11 .. 1e-4, of Z and of the USA velocity
};

class SphereFlow final : public flow::Flow {
 public:
  /// Equal weights.
  SphereFlow(const SphereFlowSettings& settings, std::size_t tokens);
  /// Positive weights of any sum; they are divided by it.
  SphereFlow(const SphereFlowSettings& settings, std::vector<double> weights);

  const Space& space() const override { return space_; }
  void drift(std::span<const double> state, double log_unit, std::span<double> out) const override;
  void increment(std::span<const double> state, double log_unit,
                 std::span<double> out) const override;
  double log_unit() const override { return log_unit_; }
  /// Puts tokens of one cell side by side if they are scattered. True if it did.
  bool simplify(const flow::Time& now, std::vector<double>& state) override;
  bool at_rest(std::span<const double> state) const override { return state.size() == 3; }

  /// From now on tokens stay where they are: results do not depend on when a run was resumed.
  void fix_order() { order_is_fixed_ = true; }
  /// order()[i] is the original number of token i of the state.
  std::span<const std::uint32_t> order() const { return order_; }
  /// The tokens by original number.
  std::vector<double> expand(std::span<const double> state) const;

  /// ln of E = (1/2 beta) sum_ij w_i w_j e^{beta <x_i, x_j>}; at beta = 0 of |sum_j w_j x_j|^2 / 2.
  double log_energy(std::span<const double> state) const;

  /// Of the last drift, in the natural unit: the largest speed, and a bound of its error.
  double largest_speed() const;
  double speed_error() const;
  /// The last drift was known to within `relative` of its largest speed.
  bool resolves(double relative) const { return speed_error() <= relative * largest_speed(); }

  const SphereFlowSettings& settings() const { return settings_; }
  const kernels::SphereField& field() const { return field_; }

 private:
  bool evaluate(std::span<const double> state, const kernels::SphereFieldOut& out) const;

  SphereFlowSettings settings_;
  Sphere space_{3};
  double log_unit_;
  std::vector<double> weights_;  // in the order of the state; empty: equal
  std::vector<std::uint32_t> order_;
  mutable kernels::SphereField field_;  // tables and scratch, reused between evaluations
  mutable kernels::SphereFieldSummary last_;
  mutable bool scattered_ = true;  // at the start nobody has looked
  bool order_is_fixed_ = false;
};

}  // namespace attractor::depth
