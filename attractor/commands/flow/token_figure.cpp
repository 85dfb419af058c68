#include "attractor/commands/flow/token_figure.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/lab/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace attractor::lab {
namespace {

constexpr double kWidth = 1120;  // pixels
constexpr Colour kOutline = 0x9aa3af, kFrontLine = 0xd3d9e0, kBackLine = 0xedf0f3;

Colour faded(Colour colour, double towards_white) {
  Colour result = 0;
  for (const int shift : {16, 8, 0}) {
    const double part = (colour >> shift) & 0xff;
    result |= static_cast<Colour>(std::lround(part + (255 - part) * towards_white)) << shift;
  }
  return result;
}

Series unit_circle() {
  Series series = curve(kOutline, 1.2);
  for (int k = 0; k <= 120; ++k) {
    const double angle = k * std::numbers::pi / 60;
    add_point(series, std::cos(angle), std::sin(angle));
  }
  return series;
}

// Meridians and parallels every 30 degrees; the half that faces away from the reader, or the other.
Series graticule(const std::array<double, 9>& camera, bool back) {
  Series series = curve(back ? kBackLine : kFrontLine, 0.8);
  constexpr double kDegree = std::numbers::pi / 180;
  const auto add = [&](double latitude, double longitude) {
    const double p[] = {std::cos(latitude) * std::cos(longitude),
                        std::cos(latitude) * std::sin(longitude), std::sin(latitude)};
    const auto along = [&](int row) {
      return camera[3 * row] * p[0] + camera[3 * row + 1] * p[1] + camera[3 * row + 2] * p[2];
    };
    const bool seen = (along(2) < 0) == back;
    add_point(series, seen ? along(0) : kNan, seen ? along(1) : kNan);
  };
  for (int latitude = -60; latitude <= 60; latitude += 30) {
    for (int k = 0; k <= 120; ++k) add(latitude * kDegree, 3 * k * kDegree);
    add_point(series, kNan, kNan);
  }
  for (int longitude = 0; longitude < 360; longitude += 30) {
    for (int k = -30; k <= 30; ++k) add(3 * k * kDegree, longitude * kDegree);
    add_point(series, kNan, kNan);
  }
  return series;
}

// Area grows by equal amounts with every token on the spot. A white rim keeps neighbours apart.
Series dots(const FlowView& view, const std::vector<Marker>& spots, std::size_t tokens, bool back) {
  const double n = static_cast<double>(tokens);
  const double least = n <= 100 ? 3.4 : n <= 400 ? 2.6 : 1.8, most = 15;
  Series series{.mark = report::Mark::points};
  const auto add = [&series](const Marker& spot, double radius, Colour colour) {
    add_point(series, spot.x, spot.y);
    series.sizes.push_back(radius);
    series.colours.push_back(colour);
  };
  for (const Marker& spot : spots) {
    if ((spot.z < 0) != back) continue;
    const double share = n > 1 ? (static_cast<double>(spot.count) - 1) / (n - 1) : 0;
    const double radius = std::sqrt(least * least + (most * most - least * least) * share);
    if (spots.size() <= 300) add(spot, radius + 0.9, 0xffffff);
    add(spot, radius, faded(view.palette[spot.group], back ? 0.66 : 0));
  }
  return series;
}

}  // namespace

Panel token_panel(const FlowRecord& record, const FlowView& view, std::size_t snapshot,
                  std::size_t stride) {
  Panel panel;
  panel.title = "t = " + time_text(record.snapshots[snapshot].time);
  if (!view.on_sphere) panel.title += ",  |x| ≤ " + power_text(std::log10(view.unit[snapshot]));
  panel.bare = panel.equal_scale = true;
  panel.x.low = panel.y.low = -1.1;
  panel.x.high = panel.y.high = 1.1;
  const std::vector<Marker> spots = markers(view, snapshot, stride);
  const std::size_t drawn = (view.shown.size() + stride - 1) / stride;
  if (view.surface) panel.series.push_back(graticule(view.camera, true));
  panel.series.push_back(dots(view, spots, drawn, true));
  if (view.on_sphere) panel.series.push_back(unit_circle());
  if (view.surface) panel.series.push_back(graticule(view.camera, false));
  panel.series.push_back(dots(view, spots, drawn, false));
  return panel;
}

PageFigure token_figure(const FlowRecord& record, const FlowView& view) {
  const std::vector<std::size_t> chosen = telling_snapshots(view, 8);
  const std::size_t stride = (view.shown.size() + 999) / 1000;
  PageFigure result;
  result.wide = true;
  report::Figure& figure = result.figure;
  figure.id = "tokens";
  for (const std::size_t k : chosen) figure.panels.push_back(token_panel(record, view, k, stride));
  figure.columns = chosen.size() <= 4 ? chosen.size() : (chosen.size() + 1) / 2;
  const std::size_t rows = (chosen.size() + figure.columns - 1) / figure.columns;
  figure.width = kWidth;
  const double cell = std::min(320.0, kWidth / static_cast<double>(figure.columns));
  figure.height = static_cast<double>(rows) * (cell + 26);
  result.caption = fmt::format("Tokens {}. ", view.caption);
  if (view.palette.size() > 1)
    result.caption +=
        fmt::format("Colour: the cluster a token is in at t = {}{}. ",
                    time_text(record.snapshots[view.reference].time),
                    clusters_of(record.snapshots[view.reference]) > report::kPalette.size()
                        ? " (colours repeat)"
                        : "");
  result.caption += "Area: the number of tokens on the spot.";
  if (!view.on_sphere) result.caption += " Each panel has its own scale.";
  const std::size_t step = view.shown.size() > 1 ? stride * (view.shown[1] - view.shown[0]) : 1;
  if (step > 1) result.caption += fmt::format(" One token in {} is drawn.", step);
  return result;
}

}  // namespace attractor::lab
