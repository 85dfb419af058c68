// A training run as one page to look at: which tokens were selected, in a sentence and a few
// numbers; figures; the certificates of all max-margin problems that were solved; token by token
// and choice by choice; and all that is needed to repeat the run and to read its data.
#pragma once

#include <string>

#include "attractor/commands/page.hpp"
#include "attractor/lab/select/select_record.hpp"

namespace attractor::lab {

/// One sentence in plain words, as markup of figures (report/figure.hpp).
std::string headline(const SelectRecord& record);

/// Of the page; plain text.
std::string select_title(const SelectRecord& record);

/// Tiles, warnings, certificates, tokens and choices, theory, and how to load the result.
Page select_page(const SelectRecord& record);

}  // namespace attractor::lab
