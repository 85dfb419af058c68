// The figures of a run: tokens at telling times, clusters, energy and cosines against time, cosines
// of all pairs, and the merge tree. The time axis is logarithmic as soon as the times span more
// than 2.5 decades; it is drawn from log10 t, so no time is too long or too short for it.
#pragma once

#include <vector>

#include "attractor/commands/flow/flow_view.hpp"
#include "attractor/commands/page.hpp"
#include "attractor/lab/flow/flow_record.hpp"

namespace attractor::lab {

/// Those that the record has data for.
std::vector<PageFigure> flow_figures(const FlowRecord& record, const FlowView& view);

}  // namespace attractor::lab
