// The interactive picture of a run: a canvas, a slider over the snapshots, and the script that
// draws them; no library, nothing loaded. Positions are embedded as thousandths of the unit, for at
// most 2000 tokens and 100 snapshots.
#pragma once

#include <string>

#include "attractor/commands/flow/flow_view.hpp"
#include "attractor/lab/flow/flow_record.hpp"

namespace attractor::lab {

/// HTML to be put into the body of a page. The view has at least one snapshot.
std::string flow_viewer(const FlowRecord& record, const FlowView& view);

}  // namespace attractor::lab
