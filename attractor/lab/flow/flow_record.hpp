// What a run of `attractor flow` leaves: the one value that result.h5, summary.json, the figures
// and the page are made from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attractor/attention/attention_layer.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/depth/coalescence/token_groups.hpp"
#include "attractor/flow/status.hpp"
#include "attractor/lab/flow/flow_setup.hpp"
#include "attractor/lab/flow/flow_weights.hpp"
#include "attractor/observe/leaders.hpp"
#include "attractor/observe/merge_tree.hpp"
#include "attractor/observe/observation.hpp"

namespace attractor::lab {

/// All original tokens at one time.
struct Snapshot {
  flow::Time time;
  std::vector<double> positions;         // tokens x dim; directions where tokens have lengths
  std::vector<std::uint32_t> clusters;   // label of each token
  std::vector<double> cosine_histogram;  // 100 equal bins on [-1, 1], fractions of pairs
  std::vector<double> norms{};           // lengths of tokens, where a scheme lets them grow
};

/// An observable beside the columns: its values are Observation::more.
struct ObservableName {
  std::string name, meaning;
};

struct FlowRecord {
  FlowSetup setup;
  std::size_t tokens = 0, dim = 0;  // as made: a file decides its own
  double cluster_cosine = 0.999, merge_radius = 0;
  flow::Status status = flow::Status::complete;
  flow::Time time;         // of the end; where all tokens collapsed, of the last merger
  flow::Time solver_time;  // up to which the solver went
  std::uint64_t steps = 0, rejected = 0;
  std::uint64_t outputs =
      0;  // times that came up; the series may have fewer (observing_budget.hpp)
  std::vector<observe::Observation> series;  // ascending in time; the last one is the end state
  std::vector<ObservableName> observables;   // of `more` in the series
  std::vector<Snapshot> snapshots;           // first: start, last: end
  std::vector<observe::Linkage> merges;
  std::vector<depth::Coalescence> coalescences;
  double merge_error = 0;            // displacement of a token at the end by coalescence, estimated
  double offset_error = 0;           // relative, of distances within coalesced groups
  std::vector<std::uint32_t> owner;  // final group of every token
  std::string engine;
  std::uint64_t steps_by_rows = 0;  // of engine clumps: where rows of all pairs were quicker
  double velocity_error = 0;        // of the engine, in the natural unit of time; 0: rounding only
  double loosened = 0;         // the largest tolerance that the engine's error imposed; 0: none
  std::optional<bool> grows;   // at an equilibrium: whether a perturbation grows,
  double log10_growth = kNan;  // and log10 of its rate
  std::optional<observe::Leaders> leaders;  // causal masks: of the start, at radius 4/sqrt(beta)
  std::vector<double> head_entropies;       // at the end, for general layers
  std::vector<std::uint32_t> selected;      // hardmax: what each token selects at the end
  LayerStatus layer_status = LayerStatus::complete;  // worst of all attention maps
  FlowWeights weights;                               // at the start
  FlowWeights last_weights;                          // at the end, where they are redrawn
};

/// How the run ended in one word; attention that never became doubly stochastic is no completion.
inline std::string_view outcome(const FlowRecord& record) {
  const bool fell_short = record.layer_status != LayerStatus::complete;
  return flow::delivered(record.status) && fell_short ? name(record.layer_status)
                                                      : flow::name(record.status);
}

/// What to do about it; empty where nothing is.
inline std::string_view remedy(const FlowRecord& record) {
  const bool fell_short = record.layer_status != LayerStatus::complete;
  return flow::delivered(record.status) && fell_short ? "lower beta" : flow::remedy(record.status);
}

}  // namespace attractor::lab
