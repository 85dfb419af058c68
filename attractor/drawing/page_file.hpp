// A result as a page to look at, and its whole directory. A page is self-contained (nothing is
// loaded, and its policy forbids it) and holds no clock: equal results, equal bytes.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attractor/commands/result.hpp"
#include "attractor/drawing/figure_file.hpp"

namespace attractor::lab {

/// What is written beside the numbers.
struct PageOptions {
  bool page = true;
  std::vector<report::Format> formats = {report::Format::svg};  // of the files in figures/
};

/// The whole document. title and footer: plain text; body: HTML. images: files beside the page may
/// be shown in it.
std::string page_document(std::string_view title, const std::string& body,
                          const std::string& footer, bool images = false);

/// A moving picture, and the script that plays it and makes figures answer: HTML.
std::string scene_element(const report::Scene& scene);
std::string page_script();
/// Fills the page with nothing but a moving picture that plays again and again: for slides.
std::string scene_document(const report::Scene& scene);

/// index.html and the files in figures/.
void write_page(const Result& answer, const Call& call, const std::filesystem::path& directory,
                const PageOptions& options = {});

/// result.h5, page and figures (unless it is to have none), and at last summary.json, which marks
/// the run as ended.
void write_result(const Result& answer, const Call& call, double wall_seconds,
                  const std::filesystem::path& directory, const PageOptions& options = {});

}  // namespace attractor::lab
