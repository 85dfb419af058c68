// A bridge as one page to look at: training and depth side by side. What happened in a sentence and
// a few numbers; the tokens at the end of their flow, as a picture to slide through training time;
// growth of the norm, selected weight, clusters and entropy, each against what theory says; all
// checkpoints in a table; and all that is needed to repeat the run and to read its data. The page
// is self-contained and depends on the record only: equal runs, equal bytes.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "attractor/experiment/bridge_experiment.hpp"
#include "attractor/experiment/page.hpp"

namespace attractor::experiment {

/// One sentence in plain words, as markup of figures (report/figure.hpp).
std::string headline(const BridgeRecord& record);

/// norm, weight, tokens, clusters, entropy: those that the record has data for.
std::vector<PageFigure> bridge_figures(const BridgeRecord& record);

/// Writes index.html and figures/NAME.{svg,pdf,png} into the directory. Without gnuplot the page
/// says so where figures would be. Throws Error if a file cannot be written.
void write_bridge_page(const BridgeRecord& record, const std::filesystem::path& directory);

}  // namespace attractor::experiment
