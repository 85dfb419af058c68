// A run as one page to look at: what happened in a sentence and a few numbers, an interactive
// picture of the tokens, figures, and all that is needed to repeat the run and to read its data.
// The page is self-contained (nothing is loaded) and depends on the record only: equal runs, equal
// bytes.
#pragma once

#include <filesystem>
#include <string>

#include "attractor/lab/flow/flow_record.hpp"

namespace attractor::lab {

/// One sentence in plain words, as markup of figures (report/figure.hpp).
std::string headline(const FlowRecord& record);

/// Of the page; plain text.
std::string flow_title(const FlowRecord& record);

/// HTML: tiles, the interactive picture, figures. Draws figures/NAME.{svg,pdf,png} on the way;
/// without gnuplot the page says so where figures would be.
std::string flow_body(const FlowRecord& record, const std::filesystem::path& figures);

/// HTML: how to load the result, and how accurate it is.
std::string flow_sections(const FlowRecord& record);

}  // namespace attractor::lab
