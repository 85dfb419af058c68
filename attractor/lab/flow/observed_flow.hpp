// The flow of a setup (depth/make_token_flow.hpp chooses it) with what a run does to it and wants
// of it: weights are redrawn with depth, mix switches, ranks share the tokens, observations are
// made.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "attractor/depth/attention_flow.hpp"
#include "attractor/depth/layer_flow.hpp"
#include "attractor/depth/make_token_flow.hpp"
#include "attractor/flow/run.hpp"
#include "attractor/lab/flow/flow_setup.hpp"
#include "attractor/lab/flow/flow_weights.hpp"
#include "attractor/observe/observation.hpp"

namespace attractor::lab {

class ObservedFlow {
 public:
  /// Throws Error on what has no meaning. `distributed`: the ranks share the tokens
  /// (check_distributed() has let it pass).
  ObservedFlow(const FlowSetup& p, std::size_t tokens, std::size_t dim, double merge_radius,
               bool distributed = false);

  depth::TokenFlow& flow() { return *flow_; }
  const depth::TokenFlow& flow() const { return *flow_; }
  /// Of all tokens, also where ranks share them.
  depth::TokenFlow& whole() { return whole_ ? *whole_ : *flow_; }
  const depth::TokenFlow& whole() const { return whole_ ? *whole_ : *flow_; }
  depth::TokenGroups& groups() { return whole().groups(); }
  const depth::TokenGroups& groups() const { return whole().groups(); }

  /// The state is this rank's tokens; observations are made of those of all.
  bool distributed() const { return whole_ != nullptr; }
  /// Where all tokens are at a fraction of a step, members of coalesced groups included.
  std::vector<double> tokens_at(const flow::Step& step, double theta);
  /// Members of coalesced groups can be told from their centres.
  bool members_visible() const;
  /// Of engine clumps; else nothing.
  depth::ClumpHistory clump_history() const;
  void set_clump_history(const depth::ClumpHistory& history);
  /// The next time after `now` at which the flow changes (weights redrawn, mix switching), or
  /// `end`.
  flow::Time next_change(const flow::Time& now, const flow::Time& end) const;
  /// Makes the flow what it is from `now` on: at the start, at each change, and after a resume.
  void enter(const flow::Time& now, std::vector<double>& state);

  /// The weights at the start, and those in force when a run has come to `end`.
  FlowWeights first_weights() const { return weights_.at(0); }
  FlowWeights last_weights(const flow::Time& end) const { return weights_.at(period_before(end)); }

  /// How the setup wants states measured.
  observe::ObserveOptions options() const;
  /// All that is measured of a state; `shape`: its directions.
  observe::Observation observe(const flow::Time& time, std::span<const double> state,
                               std::span<const double> shape,
                               const observe::ObserveOptions& options, bool thorough,
                               observe::Details* details = nullptr) const;

 private:
  std::uint64_t period_before(const flow::Time& end) const;
  void know_energy(std::span<const double> state, observe::Observation& o) const;
  double layer_cosine(const flow::Time& time, std::span<const double> state) const;
  void observe_layer(const flow::Time& time, std::span<const double> state, bool affordable,
                     observe::Observation& o) const;

  FlowSetup setup_;
  std::size_t dim_;
  WeightSource weights_;
  std::unique_ptr<depth::TokenFlow> flow_;
  std::unique_ptr<depth::TokenFlow> whole_;  // beside a distributed flow: it observes
  depth::AttentionFlow* plain_ = nullptr;    // whole(), if it coalesces
  depth::LayerFlow* layers_ = nullptr;       // flow(), if its weights may be redrawn
  Attention observed_;                       // what energy and entropy are measured with
  double logit_bound_ = 0;
};

}  // namespace attractor::lab
