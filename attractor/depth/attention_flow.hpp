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
// carrying its mass (coalesce.hpp). Its members keep their offsets from it, which go along by the
// linearised flow (offset_flow.hpp), so what is left out is second order in the radius; it goes
// along too (merge_shift.hpp), and groups().merge_error() says how large it is. A group whose
// offsets grow is split again. This is for steppers with dense output (flow::dormand_prince()).
//
// Clumps. Between coalesced tokens and rows of all pairs stand sums over clumps of tokens
// (clumps/clump_sums.hpp), on the sphere with identity weights, where clumps are tight enough for
// the accuracy; rows of all pairs are summed where they are not. Who is in a clump is looked at
// again after each step, and depends on the present state only.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "attractor/attention/attention.hpp"
#include "attractor/depth/attention_output.hpp"
#include "attractor/depth/clumps/clump_history.hpp"
#include "attractor/depth/clumps/clump_partition.hpp"
#include "attractor/depth/token_flow.hpp"
#include "attractor/flow/flow.hpp"
#include "attractor/flow/stepper.hpp"

namespace attractor::depth {

class AttentionFlow final : public TokenFlow {
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
  void carry(const flow::Stretch& stretch, double theta) override;
  void advance(const flow::Stretch& stretch) override;
  bool at_rest(std::span<const double> state) const override;
  /// Where tokens coalesce: what attracts nobody else contracts meanwhile.
  flow::Steepness steepness() const override;
  double drift_error() const override;
  flow::Balance balance(std::span<const double> state, std::span<const double> drift,
                        double log_unit) const override;

  /// Single precision halves the time and has an error of its own (kernels/dense/single_rows.hpp).
  void set_precision(Precision precision) { precision_ = precision; }
  /// Sums over clumps where they save time, with this error relative to the terms of a row.
  /// Sphere, Q = K = V = I, double precision.
  void set_clumps(double accuracy) { clump_accuracy_ = accuracy; }
  /// Clumps of the present state; 0: rows of all pairs.
  std::size_t clumps() const { return partition_.count(); }
  const ClumpHistory& clump_history() const { return clump_history_; }
  void set_clump_history(const ClumpHistory& history) { clump_history_ = history; }
  Precision precision() const { return precision_; }

  void try_out(bool trial) const override { trial_ = trial; }

  std::string_view engine() const override { return clump_accuracy_ > 0 ? "clumps" : "dense"; }
  void enter(const flow::Time& now, std::vector<double>& state) override;
  const Attention& attention() const { return attention_; }

 private:
  bool split_growing(std::vector<double>& state);
  bool coalesce(const flow::Time& now, std::vector<double>& state);
  bool regroup(std::span<const double> state);
  bool sum_clumps(std::span<const double> state, std::span<double> pull) const;
  void output(std::span<const double> state, double log_unit, bool tangent,
              std::span<double> out) const;
  Attended attended(std::span<const double> state, std::span<const double> pull) const {
    return {attention_, *space_, state, groups_.masses(), sums_, pull, groups_.total()};
  }

  Attention attention_;
  std::unique_ptr<Space> space_;
  double log_unit_, radius_;
  Precision precision_ = Precision::f64;
  double clump_accuracy_ = 0;            // 0: no clumps
  mutable ClumpPartition partition_;     // of the present state
  mutable bool untried_ = false;         // by no drift of that state: clumps of no use go with it
  mutable double clump_error_ = 0;       // of the last drift
  mutable bool by_clumps_ = false;       // the last drift was summed
  mutable bool trial_ = false;           // a shorter step may be taken instead
  mutable bool refused_ = false;         // the last trial
  mutable bool for_trial_only_ = false;  // its sums would be worth while in a trial only: what a
                                         // run resumed there sums by rows
  ClumpHistory clump_history_;
  std::vector<bool> growing_;  // in the last step, the offsets below each token
  flow::Stepper shadow_{flow::dormand_prince()};
  mutable AttentionSums sums_;  // scratch, reused between evaluations
};

}  // namespace attractor::depth
