// Small parts of SVG documents: numbers, colours, lines of text.
#pragma once

#include <string>
#include <string_view>

#include "attractor/report/figure.hpp"

namespace attractor::report {

/// Where a figure is shown. A file has its colours; in a page the named ones are variables of its
/// style, so that the figure follows light and dark.
enum class Sheet { file, page };

std::string ink(Colour colour, Sheet sheet);
/// Words and lines that are no data.
std::string text_ink(Sheet sheet);
std::string soft_ink(Sheet sheet);
std::string line_ink(Sheet sheet);
std::string grid_ink(Sheet sheet);
std::string paper_ink(Sheet sheet);

/// Pixels, to a tenth.
std::string px(double value);

struct TextStyle {
  double size = 12;
  std::string fill{};
  const char* anchor = "start";
  bool bold = false;
  bool halo = false;  // a rim of paper, for text over lines
};
std::string text_element(double x, double y, std::string_view markup, const TextStyle& style,
                         Sheet sheet);

inline constexpr std::string_view kFileFonts = "DejaVu Sans, Verdana, sans-serif";

}  // namespace attractor::report
