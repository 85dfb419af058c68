// The figures of a run: tokens at telling times, clusters, energy and cosines against time, cosines
// of all pairs, and the merge tree. The time axis is logarithmic as soon as the times span more
// than 2.5 decades; it is drawn from log10 t, so no time is too long or too short for it.
#pragma once

#include <string>
#include <vector>

#include "attractor/experiment/flow_record.hpp"
#include "attractor/experiment/flow_view.hpp"
#include "attractor/report/figure.hpp"

namespace attractor::experiment {

struct FlowFigure {
  report::Figure figure;
  std::string caption;  // one or two sentences: how to read it
  bool wide = false;    // takes the whole width of a page
};

/// Those that the record has data for.
std::vector<FlowFigure> flow_figures(const FlowRecord& record, const FlowView& view);

}  // namespace attractor::experiment
