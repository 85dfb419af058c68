#include "attractor/drawing/svg_panel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "attractor/drawing/label_places.hpp"
#include "attractor/drawing/panel_layout.hpp"
#include "attractor/drawing/svg_marks.hpp"
#include "attractor/drawing/text_width.hpp"
#include "attractor/report/markup.hpp"

namespace attractor::report {
namespace {

const char* scale_word(Scale scale) {
  return scale == Scale::log ? "log" : scale == Scale::power ? "power" : "linear";
}

/// What figures.js needs to turn pixels into values.
std::string axis_data(char letter, const Axis& axis, const Range& range) {
  std::string text =
      fmt::format(" data-{0}=\"{1} {2:.12g} {3:.12g}\" data-{0}-name=\"{4}\"", letter,
                  scale_word(axis.scale), range.low, range.high, html_text(axis.label));
  if (!axis.names.empty()) {
    std::string names;
    for (const std::string& name : axis.names) names += (names.empty() ? "" : "\t") + name;
    text += fmt::format(" data-{}-words=\"{}\"", letter, html_text(names));
  }
  if (axis.whole) text += fmt::format(" data-{}-whole=\"\"", letter);
  if (!axis.clock.empty()) text += fmt::format(" data-clock=\"{}\"", html_text(axis.clock));
  return text;
}

// ---- Axes.

std::string axes(const PanelLayout& l, Sheet sheet) {
  const PlotBox& box = l.box;
  std::string text = fmt::format("<g stroke=\"{}\">", grid_ink(sheet));
  for (const Tick& tick : l.x_ticks)
    text += fmt::format("<path d=\"M{0} 0V{1}\"/>", px(box.across(tick.at)), px(box.height));
  for (const Tick& tick : l.y_ticks)
    text += fmt::format("<path d=\"M0 {0}H{1}\"/>", px(box.down(tick.at)), px(box.width));
  text += "</g>\n";
  return text;
}

std::string frame(const PanelLayout& l, Sheet sheet) {
  const PlotBox& box = l.box;
  std::string text = fmt::format("<g stroke=\"{}\" fill=\"none\"><path d=\"M0 0V{}H{}\"/>",
                                 line_ink(sheet), px(box.height), px(box.width));
  for (const Tick& tick : l.x_ticks)
    text += fmt::format("<path d=\"M{} {}v4\"/>", px(box.across(tick.at)), px(box.height));
  for (const Tick& tick : l.y_ticks)
    text += fmt::format("<path d=\"M0 {}h-4\"/>", px(box.down(tick.at)));
  text += "</g>\n";
  for (const Tick& tick : l.x_ticks)
    text += text_element(l.x_label_middle(tick), box.height + 17, tick.label,
                         {.size = kTickFont, .fill = soft_ink(sheet), .anchor = "middle"}, sheet);
  for (const Tick& tick : l.y_ticks)
    text += text_element(-7, box.down(tick.at) + 0.36 * kTickFont, tick.label,
                         {.size = kTickFont, .fill = soft_ink(sheet), .anchor = "end"}, sheet);
  return text;
}

std::string guides(const Panel& panel, const PlotBox& box, Sheet sheet) {
  std::string text;
  const auto add = [&](const Guide& g, const std::string& path) {
    text += fmt::format("<path stroke=\"{}\" stroke-width=\"{:.3g}\"{} d=\"{}\"/>\n",
                        ink(g.colour, sheet), g.width, g.dashed ? " stroke-dasharray=\"5 4\"" : "",
                        path);
  };
  for (const Guide& g : panel.vertical)
    if (g.at >= box.x.low && g.at <= box.x.high)
      add(g, fmt::format("M{} {}V{}", px(box.across(g.at)), px(box.height),
                         px(box.height * (1 - g.length))));
  for (const Guide& g : panel.horizontal)
    if (g.at >= box.y.low && g.at <= box.y.high)
      add(g, fmt::format("M0 {}H{}", px(box.down(g.at)), px(box.width * g.length)));
  return text;
}

// ---- Words of guides, inside the box: where they hide least.

struct Patch {
  double left, top, right, bottom;
  bool meets(const Patch& o) const {
    return left < o.right && o.left < right && top < o.bottom && o.top < bottom;
  }
};

class Places {
 public:
  Places(const Panel& panel, const PlotBox& box) : box_(box) {
    for (const Series& series : panel.series) {
      const std::vector<PixelPoint> points = pixel_points(series, box);
      for (std::size_t k = 0; k < points.size(); ++k) {
        add(points[k]);
        if (k == 0 || series.mark == Mark::points) continue;
        // Long strokes are seen between their ends too.
        const double x = points[k].x - points[k - 1].x, y = points[k].y - points[k - 1].y;
        const double length = std::hypot(x, y);
        for (double at = 6; at < std::min(length, 3000.0); at += 6)
          add({points[k - 1].x + x * at / length, points[k - 1].y + y * at / length});
      }
    }
    for (const Guide& g : panel.vertical)
      for (double y = 0; y < box.height * g.length; y += 6) add({box.across(g.at), box.height - y});
    for (const Guide& g : panel.horizontal)
      for (double x = 0; x < box.width * g.length; x += 6) add({x, box.down(g.at)});
  }

  /// Of the patches the first that touches no words and hides as little of the data as any.
  Patch take(const std::vector<Patch>& wishes) {
    std::size_t best = 0, least = std::size_t(-1);
    for (std::size_t k = 0; k < wishes.size(); ++k) {
      const std::size_t hidden = cost(wishes[k]);
      if (hidden < least) least = hidden, best = k;
    }
    taken_.push_back(wishes[best]);
    return wishes[best];
  }

 private:
  void add(const PixelPoint& p) {
    if (!std::isnan(p.x) && box_.contains(p.x, p.y)) points_.push_back(p);
  }
  std::size_t cost(const Patch& p) const {
    std::size_t count = 0;
    for (const PixelPoint& q : points_)
      if (q.x > p.left && q.x < p.right && q.y > p.top && q.y < p.bottom) ++count;
    for (const Patch& t : taken_)
      if (t.meets(p)) count += 100000;
    return count;
  }

  const PlotBox& box_;
  std::vector<PixelPoint> points_;
  std::vector<Patch> taken_;
};

std::vector<Patch> beside_vertical(const PlotBox& box, double at, double width) {
  constexpr double kHigh = kTickFont + 4;
  std::vector<Patch> wishes;
  for (double top = 2; top + kHigh <= box.height; top += kHigh / 2)
    for (const double left : {at + 5, at - 5 - width})
      if (left >= 0 && left + width <= box.width)
        wishes.push_back({left, top, left + width, top + kHigh});
  return wishes;
}

std::vector<Patch> over_horizontal(const PlotBox& box, double at, double width) {
  constexpr double kHigh = kTickFont + 4;
  std::vector<Patch> wishes;
  for (const double top : {at - kHigh - 1, at + 2})
    for (double left = box.width - width - 4; left >= 0; left -= 12)
      if (top >= 0 && top + kHigh <= box.height)
        wishes.push_back({left, top, left + width, top + kHigh});
  return wishes;
}

std::string guide_words(const Panel& panel, const PlotBox& box, Sheet sheet) {
  Places places(panel, box);
  std::string text;
  const auto add = [&](const Guide& g, const std::vector<Patch>& wishes) {
    if (wishes.empty()) return;
    const Patch at = places.take(wishes);
    text += text_element(at.left, at.bottom - 4, g.label,
                         {.size = kTickFont, .fill = text_ink(sheet), .halo = true}, sheet);
  };
  for (const Guide& g : panel.vertical)
    if (!g.label.empty() && g.at >= box.x.low && g.at <= box.x.high)
      add(g, beside_vertical(box, box.across(g.at), text_width(g.label, kTickFont)));
  for (const Guide& g : panel.horizontal)
    if (!g.label.empty() && g.at >= box.y.low && g.at <= box.y.high)
      add(g, over_horizontal(box, box.down(g.at), text_width(g.label, kTickFont)));
  return text;
}

// ---- Legends.

std::string entry(const Panel& panel, const LegendEntry& e, double x, double middle, Sheet sheet) {
  const double first = middle - kLegendLine * (static_cast<double>(e.lines.size()) - 1) / 2;
  std::string text = sample_mark(panel.series[e.series], x, first, kSample, sheet);
  for (std::size_t k = 0; k < e.lines.size(); ++k)
    text += text_element(x + kSample + 6, first + kLegendLine * static_cast<double>(k) + 4,
                         e.lines[k], {.size = kTickFont}, sheet);
  return text;
}

/// Beside the box, each name at the height of its curve's end; a thin line leads there.
std::string beside(const Panel& panel, const PanelLayout& l, Sheet sheet) {
  std::string text;
  for (const LegendEntry& e : l.legend) {
    if (!std::isnan(e.end))
      text += fmt::format(
          "<path fill=\"none\" stroke=\"{}\" stroke-width=\"1\" opacity=\"0.7\" d=\"M{} {}L{} "
          "{}\"/>\n",
          ink(panel.series[e.series].colour, sheet), px(l.box.width + 2), px(e.end),
          px(l.box.width + kLeader - 2),
          px(e.middle - kLegendLine * (static_cast<double>(e.lines.size()) - 1) / 2));
    text += entry(panel, e, l.box.width + kLeader, e.middle, sheet);
  }
  return text;
}

std::string below(const Panel& panel, const PanelLayout& l, Sheet sheet) {
  std::string text;
  for (const LegendEntry& e : l.legend) text += entry(panel, e, e.left, e.middle, sheet);
  return text;
}

// ---- The whole.

std::string headings(const Panel& panel, const PanelLayout& l, double width, Sheet sheet) {
  std::string text;
  double y = 0;
  for (const std::string& line : l.title)
    text += text_element(width / 2, (y += kTitleLine) - 4, line,
                         {.size = kLabelFont, .anchor = "middle"}, sheet);
  for (const std::string& line : l.y_name)
    text += text_element(2, (y += kNameLine) - 4, line,
                         {.size = kTickFont, .fill = text_ink(sheet)}, sheet);
  if (panel.heat && !panel.heat->label.empty())
    for (std::size_t k = 0; k < l.scale_name.size(); ++k)
      text += text_element(width - 2, l.scale_name_top + kNameLine * static_cast<double>(k + 1) - 4,
                           l.scale_name[k],
                           {.size = kTickFont, .fill = text_ink(sheet), .anchor = "end"}, sheet);
  for (std::size_t k = 0; k < l.x_name.size(); ++k)
    text += text_element(
        l.left + l.box.width / 2,
        l.top + l.box.height + l.x_tick_height + kNameLine * static_cast<double>(k + 1) - 3,
        l.x_name[k], {.size = kTickFont, .fill = text_ink(sheet), .anchor = "middle"}, sheet);
  return text;
}

std::string scale_bar(const Panel& panel, const PanelLayout& l, Sheet sheet) {
  if (!panel.heat || panel.heat->label.empty()) return "";
  std::string text = fmt::format("<g transform=\"translate({},0)\">\n{}", px(l.box.width + 12),
                                 heat_scale(*panel.heat, kScaleWidth, l.box.height, sheet));
  for (const Tick& tick : l.scale_ticks)
    text += text_element(
        kScaleWidth + 5,
        l.box.height * (1 - (tick.at - panel.heat->low) / (panel.heat->high - panel.heat->low)) +
            0.36 * kTickFont,
        tick.label, {.size = kTickFont, .fill = soft_ink(sheet)}, sheet);
  return text + "</g>\n";
}

}  // namespace

DrawnPanel draw_panel(const Panel& panel, double width, double height, Sheet sheet,
                      double least_top) {
  for (const Series& series : panel.series) check_series(series);
  const PanelLayout l = panel_layout(panel, width, height, least_top);
  const PlotBox& box = l.box;
  std::string text = headings(panel, l, width, sheet);
  text += fmt::format(
      "<g class=\"plot\" transform=\"translate({},{})\" data-width=\"{}\" "
      "data-height=\"{}\"{}{}>\n",
      px(l.left), px(l.top), px(box.width), px(box.height), axis_data('x', panel.x, box.x),
      axis_data('y', panel.y, box.y));
  if (!panel.bare && !panel.heat) text += axes(l, sheet);
  if (panel.heat) text += heat_mark(*panel.heat, box, sheet);
  std::string cut, whole;
  // Series lie over each other in their order: dots end a run of what is cut.
  const auto flush = [&] {
    if (!cut.empty())
      text += fmt::format(
          "<svg width=\"{}\" height=\"{}\" overflow=\"hidden\" fill=\"none\" "
          "stroke-linejoin=\"round\">\n{}</svg>\n",
          px(box.width), px(box.height), std::exchange(cut, ""));
  };
  text += "<g fill=\"none\">\n" + guides(panel, box, sheet) + "</g>\n";
  for (const Series& series : panel.series) {
    cut += clipped_mark(series, box, sheet);
    const std::string dots = dots_mark(series, box, sheet);
    if (dots.empty()) continue;
    flush();
    text += dots;
  }
  flush();
  if (!panel.bare) text += frame(l, sheet);
  text += guide_words(panel, box, sheet);
  text += l.beside ? beside(panel, l, sheet) : below(panel, l, sheet);
  text += scale_bar(panel, l, sheet);
  return {text + "</g>\n", l.height};
}

}  // namespace attractor::report
