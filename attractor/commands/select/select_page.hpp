// A training run as one page to look at: which tokens were selected, in a sentence and a few
// numbers; figures; the certificates of all max-margin problems that were solved; token by token
// and choice by choice; and all that is needed to repeat the run and to read its data. The page is
// self-contained and depends on the record only: equal runs, equal bytes.
#pragma once

#include <filesystem>
#include <string>

#include "attractor/lab/select/select_record.hpp"

namespace attractor::lab {

/// One sentence in plain words, as markup of figures (report/figure.hpp).
std::string headline(const SelectRecord& record);

/// Of the page; plain text.
std::string select_title(const SelectRecord& record);

/// HTML of the page. Draws figures/NAME.{svg,pdf,png} on the way; without gnuplot the page says so
/// where figures would be.
std::string select_body(const SelectRecord& record, const std::filesystem::path& figures);

/// HTML: how to load the result.
std::string select_sections(const SelectRecord& record);

}  // namespace attractor::lab
