#include "attractor/drawing/svg_marks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "attractor/base/error.hpp"
#include "attractor/drawing/indexed_png.hpp"
#include "attractor/report/markup.hpp"

namespace attractor::report {
namespace {

bool is_gap(const PixelPoint& p) { return std::isnan(p.x); }

std::string place(const PixelPoint& p) { return px(p.x) + " " + px(p.y); }

/// Of the points that fall on one column of pixels the first, the lowest, the highest and the last:
/// the line looks the same. Short lines stay as they are.
std::vector<PixelPoint> thinned(std::vector<PixelPoint> points, double width) {
  if (static_cast<double>(points.size()) < 4 * width) return points;
  std::vector<PixelPoint> kept;
  for (std::size_t from = 0; from < points.size();) {
    if (is_gap(points[from])) {
      kept.push_back(points[from++]);
      continue;
    }
    std::size_t to = from, low = from, high = from;
    while (to < points.size() && !is_gap(points[to]) &&
           std::floor(points[to].x) == std::floor(points[from].x)) {
      if (points[to].y < points[low].y) low = to;
      if (points[to].y > points[high].y) high = to;
      ++to;
    }
    std::vector<std::size_t> order = {from, low, high, to - 1};
    std::sort(order.begin(), order.end());
    order.erase(std::unique(order.begin(), order.end()), order.end());
    for (const std::size_t k : order) kept.push_back(points[k]);
    from = to;
  }
  return kept;
}

std::string line_path(const std::vector<PixelPoint>& points) {
  std::string path;
  bool down = false;  // the pen
  for (std::size_t k = 0; k < points.size(); ++k) {
    if (is_gap(points[k])) {
      down = false;
      continue;
    }
    path += (down ? "L" : "M") + place(points[k]);
    down = true;
  }
  return path;
}

std::string step_path(const std::vector<PixelPoint>& points) {
  std::string path;
  bool down = false;
  for (const PixelPoint& p : points) {
    if (is_gap(p)) {
      down = false;
      continue;
    }
    path += down ? "H" + px(p.x) + "V" + px(p.y) : "M" + place(p);
    down = true;
  }
  return path;
}

std::string stroke(const Series& series, Sheet sheet) {
  return fmt::format("stroke=\"{}\" stroke-width=\"{:.3g}\"{}{}", ink(series.colour, sheet),
                     series.width, series.dashed ? " stroke-dasharray=\"6 4\"" : "",
                     series.opacity < 1 ? fmt::format(" opacity=\"{:.3g}\"", series.opacity) : "");
}

std::string named(const Series& series) {
  return series.title.empty() ? "" : fmt::format(" data-name=\"{}\"", html_text(series.title));
}

/// Half of nine tenths of the smallest distance between neighbours.
double half_box(std::vector<double> x, double width) {
  std::sort(x.begin(), x.end());
  double least = kInfinity;
  for (std::size_t k = 1; k < x.size(); ++k)
    if (x[k] > x[k - 1]) least = std::min(least, x[k] - x[k - 1]);
  return 0.45 * (std::isfinite(least) ? least : width / 4);
}

std::string box_marks(const Series& series, const PlotBox& box, Sheet sheet) {
  const std::vector<PixelPoint> points = pixel_points(series, box);
  std::vector<double> across;
  for (const PixelPoint& p : points)
    if (!is_gap(p)) across.push_back(p.x);
  const double half = half_box(across, box.width);
  const double zero =
      box.y_axis.scale == Scale::log ? box.height : std::clamp(box.down(0), 0.0, box.height);
  std::string text, path;
  Colour colour = series.colour;
  const auto flush = [&] {
    if (!path.empty())
      text += fmt::format("<path class=\"boxes\"{} fill=\"{}\" fill-opacity=\"0.85\" d=\"{}\"/>\n",
                          named(series), ink(colour, sheet), std::exchange(path, ""));
  };
  for (std::size_t k = 0; k < points.size(); ++k) {
    if (is_gap(points[k])) continue;
    const Colour own = series.colours.empty() ? series.colour : series.colours[k];
    if (own != colour) flush();
    colour = own;
    path += fmt::format("M{} {}V{}H{}V{}z", px(points[k].x - half), px(zero), px(points[k].y),
                        px(points[k].x + half), px(zero));
  }
  flush();
  return text;
}

// ---- Colours of maps.

constexpr int kLevels = 200;

/// Viridis in nine steps: even in lightness, and safe for colour-blind readers.
Colour viridis(double share) {
  constexpr std::array<Colour, 9> kStops = {0x440154, 0x472c7a, 0x3b518b, 0x2c718e, 0x21908d,
                                            0x27ad81, 0x5cc863, 0xaadc32, 0xfde725};
  const double at = std::clamp(share, 0.0, 1.0) * 8;
  const auto from = std::min<std::size_t>(7, static_cast<std::size_t>(at));
  Colour colour = 0;
  for (const unsigned shift : {16U, 8U, 0U}) {
    const double a = kStops[from] >> shift & 0xffU, b = kStops[from + 1] >> shift & 0xffU;
    colour |= static_cast<Colour>(std::lround(a + (b - a) * (at - static_cast<double>(from))))
              << shift;
  }
  return colour;
}

std::string level_stroke(const Heat& heat, int level, Sheet sheet) {
  const double share = (level + 0.5) / kLevels;
  if (heat.ramp == Heat::Ramp::viridis) return fmt::format("stroke=\"#{:06x}\"", viridis(share));
  // Follows light and dark.
  return fmt::format("stroke=\"{}\" stroke-opacity=\"{:.3g}\"", ink(kBlue, sheet),
                     0.04 + 0.96 * share);
}

int level_of(const Heat& heat, double value) {
  const double share = (value - heat.low) / (heat.high - heat.low);
  return static_cast<int>(std::clamp(std::floor(share * kLevels), 0.0, kLevels - 1.0));
}

/// Cells of one level as strokes along the rows: one unit a cell, rows from below.
std::vector<std::string> level_paths(const Heat& heat) {
  std::vector<std::string> paths(kLevels);
  const std::size_t columns = heat.x.size(), rows = heat.y.size();
  for (std::size_t iy = 0; iy < rows; ++iy)
    for (std::size_t ix = 0; ix < columns;) {
      const double value = heat.value[iy * columns + ix];
      std::size_t end = ix + 1;
      if (!std::isfinite(value)) {
        ix = end;
        continue;
      }
      const int level = level_of(heat, value);
      while (end < columns && std::isfinite(heat.value[iy * columns + end]) &&
             level_of(heat, heat.value[iy * columns + end]) == level)
        ++end;
      paths[static_cast<std::size_t>(level)] +=
          fmt::format("M{} {}.5h{}", ix, rows - 1 - iy, end - ix);
      ix = end;
    }
  return paths;
}

/// One pixel a cell.
std::string heat_picture(const Heat& heat) {
  IndexedPicture picture{
      .width = heat.x.size(), .height = heat.y.size(), .index = {}, .palette = {}};
  for (int level = 0; level < kLevels; ++level)
    picture.palette.push_back(viridis((level + 0.5) / kLevels));
  for (std::size_t iy = heat.y.size(); iy-- > 0;)
    for (std::size_t ix = 0; ix < heat.x.size(); ++ix) {
      const double value = heat.value[iy * heat.x.size() + ix];
      picture.index.push_back(
          std::isfinite(value) ? static_cast<std::uint8_t>(level_of(heat, value)) : kTransparent);
    }
  return indexed_png(picture);
}

}  // namespace

void check_series(const Series& series) {
  const std::size_t count = series.x.size();
  if (series.y.size() != count || (!series.sizes.empty() && series.sizes.size() != count) ||
      (!series.colours.empty() && series.colours.size() != count))
    throw Error(fmt::format("series '{}' has {} x, {} y, {} sizes and {} colours", series.title,
                            count, series.y.size(), series.sizes.size(), series.colours.size()));
}

std::vector<PixelPoint> pixel_points(const Series& series, const PlotBox& box) {
  std::vector<PixelPoint> points;
  points.reserve(series.x.size());
  for (std::size_t k = 0; k < series.x.size(); ++k) {
    const bool seen = drawable(series.x[k], box.x_axis) && drawable(series.y[k], box.y_axis) &&
                      (series.sizes.empty() || std::isfinite(series.sizes[k]));
    points.push_back(seen ? PixelPoint{box.across(series.x[k]), box.down(series.y[k])}
                          : PixelPoint{kNan, kNan});
  }
  return points;
}

std::string clipped_mark(const Series& series, const PlotBox& box, Sheet sheet) {
  if (series.mark == Mark::points) return "";
  if (series.mark == Mark::boxes) return box_marks(series, box, sheet);
  const std::vector<PixelPoint> points = thinned(pixel_points(series, box), box.width);
  std::string path = series.mark == Mark::steps ? step_path(points) : line_path(points);
  if (path.empty()) return "";
  if (series.mark == Mark::area)
    return fmt::format(
        "<path class=\"area\" fill-rule=\"evenodd\"{} fill=\"{}\" fill-opacity=\"{:.3g}\" {} "
        "d=\"{}z\"/>\n",
        named(series), ink(series.colour, sheet), 0.28, stroke(series, sheet), path);
  return fmt::format("<path class=\"{}\"{} {} d=\"{}\"/>\n",
                     series.mark == Mark::steps ? "steps" : "line", named(series),
                     stroke(series, sheet), path);
}

std::string dots_mark(const Series& series, const PlotBox& box, Sheet sheet) {
  if (series.mark != Mark::points) return "";
  const std::vector<PixelPoint> points = pixel_points(series, box);
  const bool each = !series.sizes.empty() || !series.colours.empty() || series.rim > 0;
  const std::string faint =
      series.opacity < 1 ? fmt::format(" opacity=\"{:.3g}\"", series.opacity) : "";
  std::string text, path;
  for (std::size_t k = 0; k < points.size(); ++k) {
    if (is_gap(points[k]) || !box.contains(points[k].x, points[k].y)) continue;
    if (!each) {
      path += "M" + place(points[k]) + "h0";
      continue;
    }
    text += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"{:.3g}\" fill=\"{}\"/>", px(points[k].x),
                        px(points[k].y), series.sizes.empty() ? series.size : series.sizes[k],
                        ink(series.colours.empty() ? series.colour : series.colours[k], sheet));
  }
  if (!path.empty())
    return fmt::format(
        "<path class=\"dots\"{} stroke=\"{}\" stroke-width=\"{:.3g}\" "
        "stroke-linecap=\"round\"{} d=\"{}\"/>\n",
        named(series), ink(series.colour, sheet), 2 * series.size, faint, path);
  if (text.empty()) return "";
  const std::string rim = series.rim > 0 ? fmt::format(" stroke=\"{}\" stroke-width=\"{:.3g}\"",
                                                       paper_ink(sheet), series.rim)
                                         : "";
  return fmt::format("<g class=\"dots\"{}{}{}>{}</g>\n", named(series), rim, faint, text);
}

std::string sample_mark(const Series& series, double x, double y, double width, Sheet sheet) {
  if (series.mark == Mark::points)
    return fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"{:.3g}\" fill=\"{}\"/>\n",
                       px(x + width / 2), px(y), std::clamp(series.size, 2.5, 5.0),
                       ink(series.colour, sheet));
  if (series.mark == Mark::boxes || series.mark == Mark::area)
    return fmt::format(
        "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"8\" fill=\"{}\" fill-opacity=\"0.85\"/>\n",
        px(x), px(y - 4), px(width), ink(series.colour, sheet));
  return fmt::format("<path {} d=\"M{} {}H{}\"/>\n", stroke(series, sheet), px(x), px(y),
                     px(x + width));
}

std::string heat_mark(const Heat& heat, const PlotBox& box, Sheet sheet) {
  const std::size_t columns = heat.x.size(), rows = heat.y.size();
  if (columns == 0 || rows == 0 || heat.value.size() != columns * rows || !(heat.high > heat.low))
    throw Error(fmt::format("a map has {} columns, {} rows, {} values and colours from {} to {}",
                            columns, rows, heat.value.size(), heat.low, heat.high));
  const std::string about = fmt::format(
      "class=\"heat\" data-name=\"{}\" data-levels=\"{} {:.9g} {:.9g} {} {}\" width=\"{}\" "
      "height=\"{}\"",
      html_text(heat.label), kLevels, heat.low, heat.high, columns, rows, px(box.width),
      px(box.height));
  if (heat.ramp == Heat::Ramp::viridis)
    return fmt::format(
        "<image {} preserveAspectRatio=\"none\" style=\"image-rendering:pixelated\" "
        "href=\"data:image/png;base64,{}\"/>\n",
        about, base64(heat_picture(heat)));
  std::string text = fmt::format(
      "<svg {} viewBox=\"0 0 {} {}\" preserveAspectRatio=\"none\" "
      "shape-rendering=\"crispEdges\">\n",
      about, columns, rows);
  const std::vector<std::string> paths = level_paths(heat);
  for (int level = 0; level < kLevels; ++level)
    if (!paths[static_cast<std::size_t>(level)].empty())
      text += fmt::format("<path data-level=\"{}\" {} d=\"{}\"/>\n", level,
                          level_stroke(heat, level, sheet), paths[static_cast<std::size_t>(level)]);
  return text + "</svg>\n";
}

std::string heat_scale(const Heat& heat, double width, double height, Sheet sheet) {
  constexpr int kSteps = 48;
  std::string text = fmt::format("<g stroke-width=\"{:.3g}\">\n", height / kSteps + 0.6);
  for (int k = 0; k < kSteps; ++k)
    text +=
        fmt::format("<path {} d=\"M0 {}H{}\"/>\n", level_stroke(heat, k * kLevels / kSteps, sheet),
                    px(height * (1 - (k + 0.5) / kSteps)), px(width));
  return text + "</g>\n";
}

}  // namespace attractor::report
