// Tokens on the circle under attention with Q = K = V = I, in O(n) an evaluation
// (kernels/circle/circle_field.hpp). With weights of sum 1 and c_ij = cos(theta_j - theta_i)
//
//   SA   theta_i' = sum_j w_j e^{beta c_ij} sin(theta_j - theta_i) / sum_j w_j e^{beta c_ij}
//   USA  theta_i' = sum_j w_j e^{beta c_ij} sin(theta_j - theta_i),   natural unit e^{-beta}
//
// A state is n angles in ascending order within one turn. Tokens never cross, so a state stays
// sorted; run() sorts once at the start, and again if rounding has put tokens out of order by more
// than a thousandth of half a cell. drift() is right for any state, but sorts a copy if it must.
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
#include <utility>
#include <vector>

#include "attractor/attention/attention.hpp"
#include "attractor/depth/token_flow.hpp"
#include "attractor/kernels/circle/circle_field.hpp"

namespace attractor::depth {

struct CircleFlowSettings {
  Rule rule = Rule::softmax;
  double beta = 1;          // 0 .. 1e4
  double accuracy = 1e-12;  // 1e-12 .. 1e-4, of Z and of the USA velocity
};

class CircleFlow final : public TokenFlow {
 public:
  /// Equal weights.
  CircleFlow(const CircleFlowSettings& settings, std::size_t tokens);
  /// Positive weights of any sum; they are divided by it. begin() takes them along with the tokens,
  /// once; a run that is resumed knows no weights.
  CircleFlow(const CircleFlowSettings& settings, std::vector<double> weights);

  const Space& space() const override { return space_; }
  void drift(std::span<const double> angles, double log_unit, std::span<double> out) const override;
  double log_unit() const override { return log_unit_; }
  /// Sorts the state if it is not in order. True if it did.
  bool simplify(const flow::Time& now, std::vector<double>& angles) override;
  bool at_rest(std::span<const double> angles) const override { return angles.size() == 1; }

  std::string_view engine() const override { return "circle"; }
  /// Their sorted angles.
  std::vector<double> begin(std::vector<double> tokens) override;
  std::span<const double> directions(std::span<const double> angles,
                                     std::vector<double>& storage) const override;
  bool state_is_tokens() const override { return false; }
  bool has_increments() const override { return false; }
  std::span<const std::uint32_t> kept_order() const override { return order_; }
  void restore_order(std::vector<std::uint32_t> order) override { set_order(std::move(order)); }

  /// order()[i] is the original number of token i of the state.
  std::span<const std::uint32_t> order() const { return order_; }
  /// For a resumed run: a permutation. Where runs are stopped simplify() has looked last.
  void set_order(std::vector<std::uint32_t> order) {
    order_ = std::move(order);
    doubtful_ = false;
  }
  /// The angles by original number.
  std::vector<double> expand(std::span<const double> angles) const;

  /// ln of E = (1/2 beta) sum_ij w_i w_j e^{beta c_ij}; at beta = 0 of |sum_j w_j e^{i
  /// theta_j}|^2/2.
  double log_energy(std::span<const double> angles) const override;

  /// Of the last drift, in the natural unit: the largest speed, and a bound of its error.
  double largest_speed() const;
  double speed_error() const;
  double drift_error() const override { return speed_error(); }
  /// The last drift was known to within `relative` of its largest speed.
  bool resolves(double relative) const { return speed_error() <= relative * largest_speed(); }

  const CircleFlowSettings& settings() const { return settings_; }
  const kernels::CircleField& field() const { return field_; }

 private:
  kernels::CircleFieldSummary evaluate(std::span<const double> angles,
                                       const kernels::CircleFieldOut& out) const;

  CircleFlowSettings settings_;
  Euclidean space_{1};
  double log_unit_;
  std::vector<double> weights_;  // in the order of the state; empty: equal
  std::vector<std::uint32_t> order_;
  mutable kernels::CircleField field_;  // tables and scratch, reused between evaluations
  mutable kernels::CircleFieldSummary last_;
  mutable bool doubtful_ = true;  // a state may have been out of order since simplify() looked
};

/// How many groups the sorted angles form when neighbours within `radius` belong together.
std::size_t distinct_on_circle(std::span<const double> angles, double radius);

}  // namespace attractor::depth
