// A run of `attractor flow` as a film: an animated SVG that any browser plays (no script), or
// frames for GIF and WebM. Frames are the snapshots of the run, so their clock is that of the run's
// outputs
// (--output-spacing linear or log).
#pragma once

#include <filesystem>
#include <string>

#include "attractor/commands/flow/flow_view.hpp"
#include "attractor/lab/flow/flow_record.hpp"

namespace attractor::lab {

/// One turn lasts `seconds`, then it rests on the end for a second and begins again. At most 500
/// tokens are drawn.
std::string film_svg(const FlowRecord& record, const FlowView& view, double seconds);

/// A still of one snapshot.
report::Figure film_frame(const FlowRecord& record, const FlowView& view, std::size_t snapshot);

}  // namespace attractor::lab
