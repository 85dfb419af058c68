// What the pages of both halves share: the frame with its style sheet, tiles, figures drawn side by
// side, the table of parameters, and numbers in words. A page is self-contained (nothing is loaded)
// and holds no clock: equal records, equal bytes. Text is markup of figures (report/figure.hpp)
// unless it says HTML.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "attractor/flow/status.hpp"
#include "attractor/lab/parameter.hpp"
#include "attractor/report/figure.hpp"

namespace attractor::lab {

// ---- Numbers in words.

std::string superscript(std::size_t number);  // "¹²"
std::string grouped(std::uint64_t number);    // "12 345"
/// Four digits, powers of ten beyond 10^{4} and below 10^{-3}; "–" if not finite.
std::string rounded(double value);
/// A number whose distance from 1, `missing`, is what matters: "1 − 10^{−9}".
std::string close_to_one(double value, double missing);
std::string status_words(flow::Status status);

// ---- Parts of a page.

struct PageFigure {
  report::Figure figure;
  std::string caption;  // one or two sentences: how to read it
  bool wide = false;    // takes the whole width of a page
};

struct DrawnFigure {
  std::string id, html;
  bool wide;
};

/// Writes NAME.{svg,pdf,png} into the directory. Without gnuplot, or if it fails, `complaint` says
/// why figures are missing.
std::vector<DrawnFigure> draw_figures(const std::vector<PageFigure>& figures,
                                      const std::filesystem::path& directory,
                                      std::string& complaint);

/// HTML of a named value, for a list of class tiles; `more` stands below in small letters.
std::string tile(std::string_view name, const std::string& value, const std::string& more = "");

/// HTML: name, value and help; those that differ from the usual ones stand out.
std::string parameter_table(const ParameterList& now, const ParameterList& usual);

/// The whole document. title: plain text; the others: HTML.
std::string page_document(std::string_view title, const std::string& body,
                          const std::string& footer);

}  // namespace attractor::lab
