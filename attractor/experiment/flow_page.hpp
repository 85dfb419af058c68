// A run as one page to look at: what happened in a sentence and a few numbers, an interactive
// picture of the tokens, figures, and all that is needed to repeat the run and to read its data.
// The page is self-contained (nothing is loaded) and depends on the record only: equal runs, equal
// bytes.
#pragma once

#include <filesystem>
#include <string>

#include "attractor/experiment/flow_record.hpp"

namespace attractor::experiment {

/// One sentence in plain words, as markup of figures (report/figure.hpp).
std::string headline(const FlowRecord& record);

/// Writes index.html and figures/NAME.{svg,pdf,png} into the directory. Without gnuplot the page
/// says so where figures would be. Throws Error if a file cannot be written.
void write_flow_page(const FlowRecord& record, const std::filesystem::path& directory);

}  // namespace attractor::experiment
