// A run as one page to look at: what happened in a sentence and a few numbers, an interactive
// picture of the tokens, figures, and all that is needed to repeat the run and to read its data.
#pragma once

#include <string>

#include "attractor/commands/flow/flow_view.hpp"
#include "attractor/commands/page.hpp"
#include "attractor/lab/flow/flow_record.hpp"

namespace attractor::lab {

/// One sentence in plain words, as markup (report/markup.hpp).
std::string headline(const FlowRecord& record, const FlowView& view);

/// Of the page; plain text.
std::string flow_title(const FlowRecord& record);

/// When two tokens are neighbours in a cluster: "at cosine 0.999 or more", in R^d "0.0447 apart or
/// less".
std::string closeness_words(const FlowRecord& record);

/// Tiles, the moving picture, how to load the result, and how accurate it is.
Page flow_page(const FlowRecord& record, const FlowView& view);

}  // namespace attractor::lab
