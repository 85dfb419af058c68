// One panel of a figure as SVG: title, the names of its axes (that of y above it, so that it is
// read without turning the head), ticks, grid, maps, series, guides and the legend. Names of curves
// stand beside their ends, spread so that none touches another; where there is no room for that, or
// curves have no end, in rows below. Nothing overlaps whatever the words are: what needs more
// height than asked for gets it.
#pragma once

#include <string>

#include "attractor/drawing/svg_text.hpp"
#include "attractor/report/figure.hpp"

namespace attractor::report {

struct DrawnPanel {
  std::string elements;  // between (0, 0) and (width, height)
  double height = 0;     // at least the one asked for
};

/// least_top: the box begins no higher, so that those of neighbours are level. Throws Error if a
/// series has lists of different lengths.
DrawnPanel draw_panel(const Panel& panel, double width, double height, Sheet sheet,
                      double least_top = 0);

}  // namespace attractor::report
