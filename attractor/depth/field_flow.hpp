// Tokens on the sphere under attention with Q = K = V = I, in O(n) an evaluation, by a field of all
// of them: chord_flow.hpp (d = 2), sphere_flow.hpp (d = 3) and moments_flow.hpp (d = 3 .. 8). With
// weights of sum 1
//
//   SA   x_i' = P_i sum_j w_j e^{beta <x_i, x_j>} x_j / sum_j w_j e^{beta <x_i, x_j>}
//   USA  x_i' = P_i sum_j w_j e^{beta <x_i, x_j>} x_j,   natural unit e^{-beta}
//
// A state is n x d unit vectors. Where the field has cells, run() puts tokens of one cell side by
// side at the start, and again when they have mixed; order() keeps their numbers. drift() is right
// for any order.
//
// Error of a velocity in the natural unit: that of the field, USA as it is, SA twice it over Z_i,
// the partition sum of the token, 1 if all others are near. It is absolute: a motion slower than
// that (clusters approaching each other over times e^{c beta}) is not resolved. resolves() says so;
// dense rows of coalesced tokens (attention_flow.hpp) then keep relative accuracy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "attractor/attention/attention.hpp"
#include "attractor/depth/token_flow.hpp"
#include "attractor/kernels/circle/circle_chords.hpp"
#include "attractor/kernels/moments/power_moments.hpp"
#include "attractor/kernels/sphere/sphere_field.hpp"

namespace attractor::depth {

struct FieldFlowSettings {
  Rule rule = Rule::softmax;
  double beta = 1;
  double accuracy = 1e-11;  // what it means is up to the field
  std::size_t dim = 3;
};

/// Field: kernels::CircleChords (drifts only), kernels::SphereField or kernels::PowerMoments.
template <class Field>
class FieldFlow final : public TokenFlow {
 public:
  /// Equal weights. Throws Error on what the field cannot do.
  FieldFlow(const FieldFlowSettings& settings, std::size_t tokens);
  /// Positive weights of any sum; they are divided by it.
  FieldFlow(const FieldFlowSettings& settings, std::vector<double> weights);

  const Space& space() const override { return space_; }
  void drift(std::span<const double> state, double log_unit, std::span<double> out) const override;
  void increment(std::span<const double> state, double log_unit,
                 std::span<double> out) const override;
  double log_unit() const override { return log_unit_; }
  /// Puts tokens of one cell side by side if they are scattered. True if it did.
  bool simplify(const flow::Time& now, std::vector<double>& state) override;
  bool at_rest(std::span<const double> state) const override {
    return state.size() == settings_.dim;
  }

  std::string_view engine() const override;
  /// Where the field has cells, tokens of one cell side by side.
  std::vector<double> begin(std::vector<double> tokens) override;
  /// From now on tokens stay where they are: results do not depend on when a run was resumed.
  void enter(const flow::Time& now, std::vector<double>& state) override;
  bool state_is_tokens() const override { return !kCells; }
  bool has_increments() const override { return !std::is_same_v<Field, kernels::CircleChords>; }

  /// order()[i] is the original number of token i of the state.
  std::span<const std::uint32_t> order() const { return order_; }
  /// The tokens by original number.
  std::vector<double> expand(std::span<const double> state) const;

  /// ln of E = (1/2 beta) sum_ij w_i w_j e^{beta <x_i, x_j>}; at beta = 0 of |sum_j w_j x_j|^2 / 2.
  double log_energy(std::span<const double> state) const override;

  /// Of the last drift, in the natural unit: the largest speed, and a bound of its error.
  double largest_speed() const;
  double speed_error() const;
  double drift_error() const override { return speed_error(); }
  /// The last drift was known to within `relative` of its largest speed.
  bool resolves(double relative) const { return speed_error() <= relative * largest_speed(); }

  const FieldFlowSettings& settings() const { return settings_; }
  const Field& field() const { return field_; }

 private:
  static constexpr bool kCells = !std::is_same_v<Field, kernels::PowerMoments>;

  kernels::SphereFieldSummary evaluate(std::span<const double> state,
                                       const kernels::SphereFieldOut& out) const;

  FieldFlowSettings settings_;
  Sphere space_;
  double log_unit_;
  std::vector<double> weights_;  // in the order of the state; empty: equal
  std::vector<std::uint32_t> order_;
  mutable Field field_;                       // tables and scratch, reused between evaluations
  mutable kernels::SphereFieldSummary last_;  // of a drift
  mutable bool scattered_ = true;             // at the start nobody has looked
  bool order_is_fixed_ = false;
};

}  // namespace attractor::depth
