// From parameters to the flow that moves the tokens, behind one face for the experiment: the fused
// AttentionFlow where it can do what was asked, CircleFlow (ChordFlow for fixed steps), SphereFlow
// and MomentsFlow for very many tokens on the circle, in three and in up to eight dimensions
// (engine_of() decides), the
// general LayerFlow otherwise; DistributedFlow where ranks share tokens.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attractor/depth/attention_flow.hpp"
#include "attractor/depth/chord_flow.hpp"
#include "attractor/depth/circle_flow.hpp"
#include "attractor/depth/distributed_flow.hpp"
#include "attractor/depth/layer_flow.hpp"
#include "attractor/depth/moments_flow.hpp"
#include "attractor/depth/sphere_flow.hpp"
#include "attractor/experiment/flow_parameters.hpp"
#include "attractor/experiment/flow_weights.hpp"
#include "attractor/flow/run.hpp"
#include "attractor/observe/observation.hpp"

namespace attractor::experiment {

class FlowModel {
 public:
  /// Files are read as they are named. Throws Error on what has no meaning. `distributed`: the
  /// ranks share the tokens (check_distributed() has let it pass).
  FlowModel(const FlowParameters& p, std::size_t tokens, std::size_t dim, double merge_radius,
            bool distributed = false);

  flow::Flow& flow();
  const flow::Flow& flow() const;
  depth::TokenGroups& groups();
  const depth::TokenGroups& groups() const;

  /// The state is this rank's tokens; observations are made of those of all.
  bool distributed() const { return distributed_.has_value(); }
  /// The state of the flow for these tokens: themselves, their sorted angles, or a rank's own.
  std::vector<double> begin(std::vector<double> tokens);
  /// The merge tree can watch the steps: the state is all tokens themselves, of length 1.
  bool watchable() const {
    return !has_lengths() && !circle_ && !chords_ && !sphere_ && !distributed_;
  }
  /// Where all tokens are at a fraction of a step, members of coalesced groups included.
  std::vector<double> tokens_at(const flow::Step& step, double theta);
  /// Members of coalesced groups can be told from their centres.
  bool members_visible() const;
  /// Tokens have lengths beside directions (pre-normalised schemes).
  bool has_lengths() const;
  /// Tokens of a state: directions where they have lengths.
  std::vector<double> directions(std::span<const double> state) const;

  /// The next time after `now` at which the flow changes (weights redrawn, mix switching), or
  /// `end`.
  flow::Time next_change(const flow::Time& now, const flow::Time& end) const;
  /// Makes the flow what it is from `now` on: at the start, at each change, and after a resume.
  void enter(const flow::Time& now, std::vector<double>& state);

  /// The weights at the start, and those in force when a run has come to `end`.
  FlowWeights first_weights() const { return weights_.at(0); }
  FlowWeights last_weights(const flow::Time& end) const { return weights_.at(period_before(end)); }

  /// Numbers for each token of a state.
  std::size_t width() const { return circle_ ? 1 : dim_; }
  /// Where an engine that moves tokens about keeps them, beside groups(); empty: it does not.
  std::span<const std::uint32_t> order() const;
  /// For a resumed run.
  void restore(std::vector<std::uint32_t> order, LayerStatus status);

  /// All that is measured of a state.
  observe::Observation observe(const flow::Time& time, std::span<const double> state,
                               const observe::ObserveOptions& options, bool thorough) const;
  /// Mean entropy of the rows of each head, nats; empty for plain attention.
  std::vector<double> head_entropies(const flow::Time& time, std::span<const double> state) const;
  /// hardmax: the token that each token selects, head by head; empty for other rules.
  std::vector<std::uint32_t> selected(const flow::Time& time, std::span<const double> state) const;
  /// sinkhorn that did not converge, if so.
  LayerStatus layer_status() const;
  std::string_view engine() const;
  /// Engines in O(n): bound of the error of a velocity in the natural unit; 0 for others
  /// (rounding).
  double velocity_error() const;

 private:
  void keep_order(std::span<const std::uint32_t> order);
  std::uint64_t period_before(const flow::Time& end) const;
  void know_energy(std::span<const double> state, observe::Observation& o) const;
  double layer_cosine(const flow::Time& time, std::span<const double> state) const;
  void observe_layer(const flow::Time& time, std::span<const double> state, bool affordable,
                     observe::Observation& o) const;

  FlowParameters parameters_;
  std::size_t dim_;
  WeightSource weights_;
  std::optional<depth::AttentionFlow> plain_;
  std::optional<depth::LayerFlow> general_;
  std::optional<depth::CircleFlow> circle_;
  std::optional<depth::ChordFlow> chords_;
  std::optional<depth::DistributedFlow> distributed_;  // beside plain_, which observes
  std::optional<depth::SphereFlow> sphere_;
  std::optional<depth::MomentsFlow> moments_;
  depth::TokenGroups sorted_groups_{1};  // owner: where the sorted state keeps each token
  Attention observed_;                   // what energy and entropy are measured with
  double logit_bound_ = 0;
};

}  // namespace attractor::experiment
