// Tokens at telling times, a panel for each: on the circle, on the sphere (orthographic, with
// meridians and parallels every 30 degrees), or in their principal plane (flow_view.hpp).
#pragma once

#include "attractor/commands/flow/flow_view.hpp"
#include "attractor/commands/page.hpp"
#include "attractor/lab/flow/flow_record.hpp"

namespace attractor::lab {

/// One of those panels; every `stride`-th of the view's tokens.
report::Panel token_panel(const FlowRecord& record, const FlowView& view, std::size_t snapshot,
                          std::size_t stride);

/// The view has at least one snapshot.
PageFigure token_figure(const FlowRecord& record, const FlowView& view);

}  // namespace attractor::lab
