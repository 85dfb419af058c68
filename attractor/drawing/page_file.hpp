// A result as a page to look at, and its whole directory. A page is self-contained (nothing is
// loaded) and holds no clock: equal results, equal bytes.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "attractor/commands/result.hpp"

namespace attractor::lab {

/// The whole document. title and footer: plain text; body: HTML.
std::string page_document(std::string_view title, const std::string& body,
                          const std::string& footer);

/// index.html and figures/NAME.{svg,pdf,png}. Without gnuplot the page says so where figures would
/// be.
void write_page(const Result& answer, const Call& call, const std::filesystem::path& directory);

/// result.h5, page and figures (unless it is to have none), and at last summary.json, which marks
/// the run as ended.
void write_result(const Result& answer, const Call& call, double wall_seconds,
                  const std::filesystem::path& directory, bool with_page = true);

}  // namespace attractor::lab
