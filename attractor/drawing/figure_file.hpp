// Figures drawn by gnuplot (found on PATH when a figure is drawn; no shell is involved). Equal
// figures give equal bytes: creation dates are replaced by a fixed one.
#pragma once

#include <array>
#include <filesystem>
#include <span>
#include <string>

#include "attractor/report/figure.hpp"

namespace attractor::report {

enum class Format { svg, pdf, png };
inline constexpr std::array<Format, 3> kAllFormats = {Format::svg, Format::pdf, Format::png};

/// gnuplot is on PATH.
bool figures_available();

/// The figure as an SVG document. Throws Error with gnuplot's sentence if that is impossible.
std::string svg(const Figure& figure);
/// The same as the bytes of a PNG file.
std::string png(const Figure& figure);

/// Writes path.svg, path.pdf, path.png, whichever are asked for.
void write_figure(const Figure& figure, const std::filesystem::path& path,
                  std::span<const Format> formats = kAllFormats);

}  // namespace attractor::report
