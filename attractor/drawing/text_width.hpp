// How wide text is, so that figures can be laid out without a browser: widths of DejaVu Sans, which
// files of figures are drawn with and which is wider than the fonts that pages prefer. What fits by
// these widths fits on screen.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attractor::report {

/// Of one line of markup, in the unit of the font's size.
double text_width(std::string_view markup, double font_size);

/// Broken at spaces into lines that are no wider than asked for, if they can be; a script ^{...} is
/// never broken.
std::vector<std::string> wrapped(std::string_view markup, double width, double font_size);

/// The inside of an SVG <text>: escaped, scripts as <tspan>.
std::string svg_markup(std::string_view markup, double font_size);

}  // namespace attractor::report
