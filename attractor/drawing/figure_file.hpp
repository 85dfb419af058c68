// Figures drawn as SVG, by ourselves: in a file as one document, in a page as elements whose
// colours are those of the page and that figures.js can read values from. PDF and PNG are made of
// the document by rsvg-convert. Equal figures give equal bytes.
#pragma once

#include <array>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attractor/report/figure.hpp"

namespace attractor::report {

enum class Format { svg, pdf, png };
std::span<const std::string_view> names(Format);

/// The figure as a document. Throws Error if it is not one: no panels, lists of different lengths.
std::string svg(const Figure& figure);

/// The figure for a page: an element for each panel, so that they can stand in as many columns as
/// there is room for; those wide enough for a desk also in a form for a phone. The title is left to
/// the page.
std::string page_panels(const Figure& figure);

/// Throws Error naming the package if these formats need a program that is not there.
void require_formats(std::span<const Format> formats);

/// Writes path.svg, path.pdf, path.png, whichever are asked for.
void write_figure(const Figure& figure, const std::filesystem::path& path,
                  std::span<const Format> formats);

}  // namespace attractor::report
