// Series and maps as SVG, inside the box of a panel whose upper left corner is the origin.
//
// Everything is written with absolute coordinates and few commands (M L H V z, h0 for a dot), which
// is what figures.js reads values from when a reader points at them.
#pragma once

#include <string>
#include <vector>

#include "attractor/drawing/svg_text.hpp"
#include "attractor/drawing/ticks.hpp"

namespace attractor::report {

/// The box of a panel in pixels, and what its edges mean.
struct PlotBox {
  double width = 0, height = 0;
  Axis x_axis{}, y_axis{};
  Range x{0, 1}, y{0, 1};

  double across(double value) const { return width * share_of(value, x_axis, x); }
  double down(double value) const { return height * (1 - share_of(value, y_axis, y)); }
  bool contains(double px, double py) const {
    return px >= -0.05 && px <= width + 0.05 && py >= -0.05 && py <= height + 0.05;
  }
};

struct PixelPoint {
  double x, y;
};

/// Where the points of a series stand; those that cannot be drawn are NaN.
std::vector<PixelPoint> pixel_points(const Series& series, const PlotBox& box);

/// Throws Error if its lists have different lengths.
void check_series(const Series& series);

/// What reaches over the box is cut off (lines, boxes, areas); empty if there is nothing to draw.
std::string clipped_mark(const Series& series, const PlotBox& box, Sheet sheet);
/// Dots stand whole or not at all.
std::string dots_mark(const Series& series, const PlotBox& box, Sheet sheet);

/// A sample of the series for its legend, about (x, y).
std::string sample_mark(const Series& series, double x, double y, double width, Sheet sheet);

std::string heat_mark(const Heat& heat, const PlotBox& box, Sheet sheet);
/// The colour scale, `height` high, at the origin.
std::string heat_scale(const Heat& heat, double width, double height, Sheet sheet);

}  // namespace attractor::report
