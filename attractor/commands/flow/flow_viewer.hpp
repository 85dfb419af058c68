// The interactive picture of a run: a canvas, a slider over the snapshots, and the script that
// draws them; no library, nothing loaded. Positions are embedded as thousandths of the unit, for at
// most 2000 tokens and 100 snapshots.
#pragma once

#include <string>

#include "attractor/experiment/flow_record.hpp"
#include "attractor/experiment/flow_view.hpp"

namespace attractor::experiment {

/// HTML to be put into the body of a page. The view has at least one snapshot.
std::string flow_viewer(const FlowRecord& record, const FlowView& view);

}  // namespace attractor::experiment
