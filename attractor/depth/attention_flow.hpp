// Tokens flowing through attention layers:  x_i' = P_i A_i(x),  P_i the projection onto the tangent
// space (sphere) or nothing (R^d), A the attention map (attention/attention.hpp); theory: arXiv
// 2512.01868. The layer map adds A_i itself: x_i <- normalise(x_i + eta A_i).
//
// Unit of time: softmax attention moves at speeds of at most |V|; unnormalised attention is e^beta
// faster, so its natural unit is e^{-beta} (log_unit() = -beta |Q^T K|).
//
// Coalescence. Tokens of one cluster contract towards each other for ever; resolving that would
// hold the step at the contraction time while the clusters live e^{c beta}. When a group has shrunk
// below `radius`, stands alone, and contracts in every direction, it is replaced by one token
// carrying its mass (coalesce.hpp). The position error committed is second order in the radius and
// added up in merge_error().
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "attractor/attention/attention.hpp"
#include "attractor/flow/flow.hpp"

namespace attractor::depth {

/// One replacement of several tokens by one.
struct Coalescence {
  flow::Time time;
  std::uint32_t into;      // original token that names the group
  std::uint32_t absorbed;  // original token that named the absorbed group
  double error;            // leading-order bound on the displacement committed
};

class AttentionFlow final : public flow::Flow {
 public:
  /// radius = 0: tokens are never coalesced.
  AttentionFlow(Attention attention, std::size_t tokens, double radius);

  const Space& space() const override { return *space_; }
  void drift(std::span<const double> state, double log_unit, std::span<double> out) const override;
  void increment(std::span<const double> state, double log_unit,
                 std::span<double> out) const override;
  double log_unit() const override { return log_unit_; }
  double fitting_log_unit(std::span<const double> state, double present) const override;
  bool simplify(const flow::Time& now, std::vector<double>& state) override;
  bool at_rest(std::span<const double> state) const override;

  const Attention& attention() const { return attention_; }
  std::span<const double> masses() const { return masses_; }
  /// For each original token, the token of the state it now belongs to.
  std::span<const std::uint32_t> owner() const { return owner_; }
  const std::vector<Coalescence>& coalescences() const { return coalescences_; }
  double merge_error() const { return merge_error_; }

  /// The state of all original tokens, from the state of the coalesced ones.
  std::vector<double> expand(std::span<const double> state) const;

  /// For a resumed run.
  void restore(std::vector<std::uint32_t> owner, std::vector<Coalescence> coalescences,
               double merge_error);

 private:
  void output(std::span<const double> state, double log_unit, bool tangent,
              std::span<double> out) const;
  void set_owner(std::vector<std::uint32_t> owner);

  Attention attention_;
  std::unique_ptr<Space> space_;
  double total_mass_, log_unit_, radius_;
  std::vector<double> masses_;
  std::vector<std::uint32_t> owner_, names_;  // names_: first original token of each state token
  std::vector<Coalescence> coalescences_;
  double merge_error_ = 0;
  mutable AttentionSums sums_;  // scratch, reused between evaluations
};

}  // namespace attractor::depth
