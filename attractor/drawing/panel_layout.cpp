#include "attractor/drawing/panel_layout.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "attractor/drawing/label_places.hpp"
#include "attractor/drawing/text_width.hpp"

namespace attractor::report {
namespace {

constexpr double kNarrow = 420;       // below, there is no room beside the box
constexpr double kLeastBox = 60;      // pixels, each way
constexpr double kBesideShare = 0.4;  // of the width, at most

double widest(const std::vector<Tick>& ticks) {
  double most = 0;
  for (const Tick& tick : ticks) most = std::max(most, text_width(tick.label, kTickFont));
  return most;
}

/// Labels at these places, each as wide as its text, do not touch.
template <class Place>
bool apart(const std::vector<Tick>& ticks, double gap, const Place& place, bool across) {
  double last = -kInfinity;
  std::vector<std::pair<double, double>> spans;
  for (const Tick& tick : ticks) {
    const double half = across ? text_width(tick.label, kTickFont) / 2 : kTickFont * 0.6;
    spans.emplace_back(place(tick) - half, place(tick) + half);
  }
  std::sort(spans.begin(), spans.end());
  for (const auto& [low, high] : spans) {
    if (low < last + gap) return false;
    last = high;
  }
  return true;
}

bool has_end(const Series& series) {
  return series.mark == Mark::lines || series.mark == Mark::steps;
}

/// Names go beside the box where curves run from left to right.
bool goes_beside(const Panel& panel, double width) {
  if (width < kNarrow || panel.heat || panel.bare || panel.equal_scale) return false;
  return std::any_of(panel.series.begin(), panel.series.end(),
                     [](const Series& s) { return !s.title.empty() && has_end(s); });
}

std::vector<LegendEntry> legend_entries(const Panel& panel, double width) {
  std::vector<LegendEntry> entries;
  for (std::size_t k = 0; k < panel.series.size(); ++k)
    if (!panel.series[k].title.empty())
      entries.push_back({.series = k, .lines = wrapped(panel.series[k].title, width, kTickFont)});
  return entries;
}

double entry_width(const LegendEntry& e) {
  double most = 0;
  for (const std::string& line : e.lines) most = std::max(most, text_width(line, kTickFont));
  return kSample + 6 + most;
}

double entry_height(const LegendEntry& e) {
  return kLegendLine * static_cast<double>(e.lines.size()) + 5;
}

double total_height(const std::vector<LegendEntry>& entries) {
  return std::accumulate(entries.begin(), entries.end(), 0.0,
                         [](double sum, const LegendEntry& e) { return sum + entry_height(e); });
}

/// Where the last point of a curve stands, and whether that is at the right edge.
std::pair<double, bool> end_of(const Series& series, const PlotBox& box) {
  const std::vector<PixelPoint> points = pixel_points(series, box);
  for (std::size_t k = points.size(); k-- > 0;)
    if (!std::isnan(points[k].x) && points[k].x <= box.width + 0.5) {
      const bool inside = points[k].y >= -0.5 && points[k].y <= box.height + 0.5;
      return {std::clamp(points[k].y, 0.0, box.height),
              has_end(series) && inside && points[k].x > 0.94 * box.width};
    }
  return {box.height / 2, false};
}

void place_beside(const Panel& panel, double under, PanelLayout& l) {
  std::vector<std::pair<double, bool>> ends;
  for (const LegendEntry& e : l.legend) ends.push_back(end_of(panel.series[e.series], l.box));
  std::vector<std::size_t> order(l.legend.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return ends[a].first < ends[b].first; });
  std::vector<LabelWish> wishes;
  for (const std::size_t k : order) wishes.push_back({ends[k].first, entry_height(l.legend[k])});
  const std::vector<double> middles = label_places(wishes, -8, l.box.height + under);
  for (std::size_t k = 0; k < order.size(); ++k) {
    LegendEntry& e = l.legend[order[k]];
    e.middle = middles[k];
    if (ends[order[k]].second) e.end = ends[order[k]].first;
  }
}

/// In rows from `top` on; where the last one ends.
double place_below(double width, double top, PanelLayout& l) {
  double x = -l.left + 2, row = 0, y = top;
  for (LegendEntry& e : l.legend) {
    const double own = entry_width(e);
    if (x + own > width - l.left && x > -l.left + 2) x = -l.left + 2, y += row, row = 0;
    e.left = x;
    e.middle = y + entry_height(e) / 2;
    row = std::max(row, entry_height(e));
    x += own + 18;
  }
  return l.legend.empty() ? top : y + row;
}

void find_y_ticks(const Panel& panel, PanelLayout& l) {
  if (panel.bare) return;
  l.y_ticks = ticks(panel.y, l.box.y, [&](const std::vector<Tick>& some) {
    return apart(
        some, 9, [&](const Tick& t) { return l.box.down(t.at); }, false);
  });
}

void find_x_ticks(const Panel& panel, PanelLayout& l) {
  if (panel.bare) return;
  l.x_ticks = ticks(panel.x, l.box.x, [&](const std::vector<Tick>& some) {
    return apart(
        some, 9, [&](const Tick& t) { return l.x_label_middle(t); }, true);
  });
}

void find_scale_ticks(const Heat& heat, PanelLayout& l) {
  l.scale_ticks = ticks({}, {heat.low, heat.high}, [&](const std::vector<Tick>& some) {
    return apart(
        some, 9,
        [&](const Tick& t) { return l.box.height * (t.at - heat.low) / (heat.high - heat.low); },
        false);
  });
}

/// The box gets the shape that equal units ask for, within the room there is.
void equalise(PanelLayout& l) {
  const double wide = l.box.x.high - l.box.x.low, high = l.box.y.high - l.box.y.low;
  const double scale = std::min(l.box.width / wide, l.box.height / high);
  l.left += (l.box.width - wide * scale) / 2;
  l.box.width = wide * scale;
  l.box.height = high * scale;
}

/// Names of the axes and of the colour scale, above the box; returns where it begins.
double place_names(const Panel& panel, double width, PanelLayout& l) {
  if (!panel.title.empty()) l.title = wrapped(panel.title, width - 4, kLabelFont);
  double top = kTitleLine * static_cast<double>(l.title.size());
  if (panel.bare) return top + 2;
  if (!panel.y.label.empty()) l.y_name = wrapped(panel.y.label, width - 4, kTickFont);
  const bool scale = panel.heat && !panel.heat->label.empty();
  if (scale) l.scale_name = wrapped(panel.heat->label, width - 4, kTickFont);
  const auto lines = [](const std::vector<std::string>& some) {
    return kNameLine * static_cast<double>(some.size());
  };
  double side = 0;
  for (const auto* names : {&l.y_name, &l.scale_name})
    for (const std::string& line : *names) side = std::max(side, text_width(line, kTickFont));
  // Side by side, or the scale's name above.
  const bool together = !l.y_name.empty() && scale && 2 * side + 20 > width;
  l.scale_name_top = top;
  if (together) top += lines(l.scale_name);
  const double names = together ? lines(l.y_name) : std::max(lines(l.y_name), lines(l.scale_name));
  if (together) {  // y's name below it: its first line moves down with top
    l.y_name.insert(l.y_name.begin(), l.scale_name.size(), "");
  }
  return top + names + 8;
}

}  // namespace

double PanelLayout::x_label_middle(const Tick& tick) const {
  const double half = text_width(tick.label, kTickFont) / 2, at = box.across(tick.at);
  return std::max(half - left + 1, std::min(at, box.width + room - half - 1));
}

PanelLayout panel_layout(const Panel& panel, double width, double height, double least_top) {
  PanelLayout l;
  l.box.x_axis = panel.x;
  l.box.y_axis = panel.y;
  l.box.x = axis_range(panel, panel.x, &Series::x);
  l.box.y = axis_range(panel, panel.y, &Series::y);
  l.beside = goes_beside(panel, width);
  l.top = std::max(least_top, place_names(panel, width, l));
  if (!panel.bare && !panel.x.label.empty())
    l.x_name = wrapped(panel.x.label, 0.8 * width, kTickFont);
  l.x_tick_height = panel.bare || !panel.x.ticks ? 6 : 22;
  const double under =
      panel.bare ? 4 : l.x_tick_height + kNameLine * static_cast<double>(l.x_name.size()) + 4;
  l.box.height = std::max(kLeastBox, height - l.top - under);
  find_y_ticks(panel, l);
  l.left = panel.bare ? 3 : std::max(16.0, widest(l.y_ticks) + 11);
  double right = panel.bare ? 3 : 14;
  if (panel.heat && !panel.heat->label.empty()) {
    find_scale_ticks(*panel.heat, l);
    right = 12 + kScaleWidth + 5 + widest(l.scale_ticks) + 4;
  }
  if (l.beside) {
    l.legend = legend_entries(panel, kBesideShare * width - kLeader - kSample - 6);
    double most = 0;
    for (const LegendEntry& e : l.legend) most = std::max(most, entry_width(e));
    right = kLeader + most + 4;
    l.box.height = std::max(l.box.height, total_height(l.legend) - 8 - under);
  } else {
    l.legend = legend_entries(panel, width - kSample - 10);
  }
  l.box.width = std::max(kLeastBox, width - l.left - right);
  if (panel.equal_scale) equalise(l);
  l.room = l.beside ? 8 : width - l.left - l.box.width;
  find_y_ticks(panel, l);
  find_x_ticks(panel, l);
  const double end = l.box.height + under;
  double bottom = end;
  if (l.beside)
    place_beside(panel, under, l);
  else
    bottom = place_below(width, end + 2, l);
  for (const LegendEntry& e : l.legend) bottom = std::max(bottom, e.middle + entry_height(e) / 2);
  l.height = panel.equal_scale ? l.top + bottom : std::max(height, l.top + bottom);
  return l;
}

}  // namespace attractor::report
