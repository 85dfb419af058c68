// How far a run is from a finer one of the same tokens: tolerance / 100 (or step / 4, on the same
// Brownian path), an engine of higher accuracy, double precision, and no coalescence where the time
// is short enough to do without (1e4 natural units); beyond that, coalescence at a tenth of the
// radius. Nothing in it relies on what the first run says of itself.
#pragma once

#include "attractor/lab/flow/flow_experiment.hpp"
#include "attractor/lab/flow/flow_record.hpp"

namespace attractor::lab {

struct Verification {
  flow::Status status = flow::Status::complete;  // of the finer run
  LayerStatus layer_status = LayerStatus::complete;
  double error = 0;         // largest distance of a token to where the finer run puts it
  double length_error = 0;  // largest relative error of a length, where tokens have lengths
  double time_error = 0;    // of ln t of the last merger, where the run went on until then
  bool coalesced = false;   // the finer run coalesced tokens too

  bool delivered() const {
    return flow::delivered(status) && layer_status == LayerStatus::complete;
  }
};

/// The finer run. Throws Error if double precision or the engine has none.
FlowSetup finer(const FlowSetup& parameters, std::size_t tokens, std::size_t dim);

/// Runs it and compares; what only rank 0 knows is told by rank 0.
Verification verify(const FlowRecord& record, const Context& context, bool distributed);

/// Both records whole (rank 0).
Verification compare(const FlowRecord& record, const FlowRecord& reference);

}  // namespace attractor::lab
