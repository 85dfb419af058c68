// A bridge as one page to look at: training and depth side by side. What happened in a sentence and
// a few numbers; the tokens at the end of their flow, as a picture to slide through training time;
// growth of the norm, selected weight, clusters and entropy, each against what theory says; all
// checkpoints in a table; and all that is needed to repeat the run and to read its data.
#pragma once

#include <string>
#include <vector>

#include "attractor/commands/page.hpp"
#include "attractor/lab/select/bridge_experiment.hpp"

namespace attractor::lab {

/// One sentence in plain words, as markup (report/markup.hpp).
std::string headline(const BridgeRecord& record);

/// norm, weight, tokens, clusters, entropy: those that the record has data for.
std::vector<PageFigure> bridge_figures(const BridgeRecord& record);

/// The ends of depth over training time, to slide through: of start, and of checkpoints their time,
/// norm, positions, clusters and number of clusters.
report::Scene bridge_scene(const BridgeRecord& record);

/// Tiles, the picture to slide through training, checkpoints, theory. There is at least one
/// checkpoint.
Page bridge_page(const BridgeRecord& record);

}  // namespace attractor::lab
