// Tokens at telling times, a panel for each: on the circle, on the sphere (orthographic, with
// meridians and parallels every 30 degrees), in their principal plane, or in R^d with axes
// (flow_view.hpp).
#pragma once

#include "attractor/commands/flow/flow_view.hpp"
#include "attractor/commands/page.hpp"
#include "attractor/lab/flow/flow_record.hpp"

namespace attractor::lab {

/// The view has at least one snapshot.
PageFigure token_figure(const FlowRecord& record, const FlowView& view);

}  // namespace attractor::lab
