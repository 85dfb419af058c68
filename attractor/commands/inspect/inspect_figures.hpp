// Figures of an inspection.
#pragma once

#include <vector>

#include "attractor/commands/page.hpp"
#include "attractor/lab/inspect/inspect_record.hpp"

namespace attractor::lab {

std::vector<PageFigure> inspect_figures(const InspectRecord& record);

/// The way of a model through the (t, beta) diagram: effective time since the start against
/// beta_eff, layer by layer, mean over texts.
struct DiagramPath {
  std::vector<double> time, beta;
};
DiagramPath path_of(const InspectRecord& record);

/// The cosine of the theory over (t, beta), from this many tokens and this cosine.
report::Heat theory_heat(double tokens, double cosine, double longest, double largest_beta);

}  // namespace attractor::lab
