#include "attractor/commands/flow/flow_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <utility>

#include "attractor/base/numbers.hpp"
#include "attractor/commands/flow/flow_page.hpp"
#include "attractor/commands/flow/token_figure.hpp"
#include "attractor/commands/time_axis.hpp"
#include "attractor/lab/words.hpp"

namespace attractor::lab {
namespace {

// ---- Against time.

std::vector<double> output_times(const FlowRecord& record) {
  std::vector<double> times;
  for (const auto& o : record.series) times.push_back(o.log10_time);
  return times;
}

Series against_time(const FlowRecord& record, const TimeAxis& time,
                    double observe::Observation::*column, Mark mark, Colour colour) {
  Series series{.mark = mark, .colour = colour, .width = 2.4};
  std::size_t finite = 0;
  for (const auto& o : record.series) {
    add_point(series, time.at(o.log10_time), o.*column);
    if (std::isfinite(series.x.back()) && std::isfinite(o.*column)) ++finite;
  }
  if (finite == 0) series.x.clear(), series.y.clear();
  if (finite == 1) series.mark = Mark::points, series.size = 4;
  return series;
}

PageFigure framed(std::string id, std::string title, const TimeAxis& time, Axis y) {
  return plot(std::move(id), std::move(title), time.axis, std::move(y), {}, {});
}

// One tick where merges fall on one pixel.
std::vector<Guide> merge_ticks(const FlowRecord& record, const TimeAxis& time) {
  std::vector<Guide> ticks;
  const double pixel = (time.axis.high - time.axis.low) / kHalf;
  for (const observe::Linkage& merge : record.merges) {
    const double at = time.at(merge.time);
    if (!std::isfinite(at) || at < time.axis.low || at > time.axis.high) continue;
    if (ticks.empty() || std::abs(at - ticks.back().at) >= pixel)
      ticks.push_back({.at = at, .colour = report::kVermillion, .width = 1.2, .length = 0.045});
  }
  return ticks;
}

std::optional<PageFigure> cluster_figure(const FlowRecord& record, const TimeAxis& time) {
  Series series =
      against_time(record, time, &observe::Observation::clusters, Mark::steps, report::kBlue);
  if (series.x.empty()) return std::nullopt;
  double most = 1;
  for (const double value : series.y)
    if (std::isfinite(value)) most = std::max(most, value);
  const bool log = most > 20;
  Axis y{.label = "clusters", .scale = log ? Scale::log : Scale::linear, .whole = true};
  y.low = log ? 0.75 : 0;
  y.high = log ? most * 1.3 : most * 1.08 + 0.3;
  PageFigure result = framed("clusters", "Number of clusters", time, y);
  result.figure.panels[0].series = {std::move(series)};
  result.figure.panels[0].vertical = merge_ticks(record, time);
  result.caption = fmt::format(
      "Clusters are chains of tokens whose neighbours are {}.{}", closeness_words(record),
      result.figure.panels[0].vertical.empty() ? "" : " Ticks at the bottom: two clusters join.");
  return result;
}

// Quantities that end at 1: the axis does too, unless they stay far below.
double top(const std::vector<Series>& series) {
  double most = 0;
  for (const Series& s : series)
    for (const double value : s.y)
      if (std::isfinite(value)) most = std::max(most, value);
  return most > 0 && most < 0.3 ? 1.2 * most : 1.06 * std::max(1.0, most);
}

std::optional<PageFigure> energy_figure(const FlowRecord& record, const TimeAxis& time) {
  Series ratio =
      against_time(record, time, &observe::Observation::energy_ratio, Mark::lines, report::kGreen);
  const bool stairs = time.axis.scale == Scale::power && record.merges.size() > 1;
  if (!ratio.x.empty()) {
    PageFigure result = framed("energy", stairs ? "The energy climbs a staircase" : "Energy", time,
                               {.label = "energy / largest possible", .low = 0});
    Panel& panel = result.figure.panels[0];
    panel.series = {std::move(ratio)};
    panel.horizontal = {{.at = 1, .dashed = true}};
    panel.y.high = top(panel.series);
    const FlowSetup& p = record.setup;
    result.caption = p.query.identity() && p.key.identity()
                         ? "One cluster has the largest energy, 1."
                         : "1 is an upper bound for any tokens.";
    if (stairs)
      result.caption += " A plateau is a long-lived state of several clusters, a step a merge.";
    return result;
  }
  Series level =
      against_time(record, time, &observe::Observation::log_energy, Mark::lines, report::kGreen);
  if (level.x.empty()) return std::nullopt;
  PageFigure result = framed("energy", "Energy", time, {.label = "ln E"});
  result.figure.panels[0].series = {std::move(level)};
  result.caption = "Logarithm of the interaction energy.";
  return result;
}

std::optional<PageFigure> cosine_figure(const FlowRecord& record, const TimeAxis& time) {
  Series mean =
      against_time(record, time, &observe::Observation::mean_cosine, Mark::lines, report::kBlue);
  Series pairs = against_time(record, time, &observe::Observation::pair_fraction, Mark::lines,
                              report::kOrange);
  if ((mean.x.empty() && pairs.x.empty()) || record.tokens < 2) return std::nullopt;
  mean.title = "mean cosine";
  pairs.title = fmt::format("share of pairs with cosine ≥ {:.6g}", record.setup.pair_threshold);
  PageFigure result = framed("cosine", "Tokens align", time, {.label = "cosine, share of pairs"});
  Panel& panel = result.figure.panels[0];
  double least = 0;
  for (const double value : mean.y)
    if (std::isfinite(value)) least = std::min(least, value);
  panel.horizontal = {{.at = 1, .dashed = true}};
  panel.series = {std::move(pairs), std::move(mean)};
  panel.y.high = top(panel.series);
  panel.y.low = least < 0 ? least - 0.05 * panel.y.high : 0;
  result.caption =
      record.setup.space == depth::Geometry::sphere
          ? "Over all pairs of different tokens; both are 1 when one cluster is left."
          : "Of the directions of all pairs of different tokens, seen from the origin.";
  return result;
}

/// R^d: how far the tokens reach.
std::optional<PageFigure> extent_figure(const FlowRecord& record, const FlowView& view,
                                        const TimeAxis& time) {
  Series farthest = curve(report::kPurple, 2.4);
  for (std::size_t k = 0; k < view.scene.unit.size(); ++k)
    add_point(farthest, time.at(record.snapshots[k].time), std::log10(view.scene.unit[k]));
  if (farthest.x.size() < 2) return std::nullopt;
  PageFigure result = framed("extent", "How far the tokens reach", time,
                             {.label = "largest |x|", .scale = Scale::power});
  result.figure.panels[0].series = {std::move(farthest)};
  result.caption = "The length of the longest token, at the snapshots.";
  return result;
}

// ---- Pairs and the merge tree.

std::optional<PageFigure> histogram_figure(const FlowRecord& record, const FlowView& view) {
  const std::size_t last = record.snapshots.size() - 1;
  const bool inner = view.reference > 0 && view.reference < last;
  std::vector<std::size_t> chosen = {0, inner ? view.reference : last / 2, last};
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  PageFigure result;
  result.wide = true;
  result.figure = {.id = "histogram", .columns = 3, .width = kWide, .height = 260};
  for (const std::size_t k : chosen) {
    const std::vector<double>& bins = record.snapshots[k].cosine_histogram;
    Series boxes{.mark = Mark::boxes, .colour = report::kBlue};
    double sum = 0;
    for (std::size_t b = 0; b < bins.size(); ++b) {
      add_point(boxes, -1 + (2 * static_cast<double>(b) + 1) / static_cast<double>(bins.size()),
                bins[b]);
      if (std::isfinite(bins[b])) sum += bins[b];
    }
    if (!(sum > 0)) continue;
    const std::string when = k == 0 ? "start, " : k == last ? "end, " : "";
    result.figure.panels.push_back(
        {.title = fmt::format("{}t = {}", when, time_text(record.snapshots[k].time)),
         .x = {.label = "cosine of a pair", .low = -1.03, .high = 1.03},
         .y = {.label = result.figure.panels.empty() ? "fraction of pairs" : "", .low = 0},
         .series = {std::move(boxes)}});
  }
  if (result.figure.panels.empty()) return std::nullopt;
  result.figure.columns = result.figure.panels.size();
  if (result.figure.columns == 1) result.figure.width = kHalf, result.wide = false;
  result.caption = "Cosines of all pairs of tokens: a peak for every angle between two clusters.";
  return result;
}

struct TreeBranch {
  double x, y;  // where it was born
  int group;    // -1: of several colours
};

// Leaves in the order of a walk through the tree, so that branches do not cross.
std::vector<double> leaf_heights(const FlowRecord& record, const std::vector<bool>& child) {
  const std::size_t n = record.tokens;
  std::vector<double> height(n, 0);
  double next = 0;
  std::vector<std::size_t> stack;
  for (std::size_t root = 0; root < n + record.merges.size(); ++root) {
    if (child[root]) continue;
    stack = {root};
    while (!stack.empty()) {
      const std::size_t node = stack.back();
      stack.pop_back();
      if (node < n) {
        height[node] = ++next;
      } else {
        stack.push_back(record.merges[node - n].right);
        stack.push_back(record.merges[node - n].left);
      }
    }
  }
  return height;
}

std::optional<PageFigure> tree_figure(const FlowRecord& record, const FlowView& view,
                                      const TimeAxis& time) {
  const std::size_t n = record.tokens, nodes = n + record.merges.size();
  if (n > 128 || record.merges.empty() || std::isnan(time.axis.low)) return std::nullopt;
  std::vector<bool> child(nodes, false);
  for (std::size_t k = 0; k < record.merges.size(); ++k) {
    const observe::Linkage& merge = record.merges[k];
    if (merge.left >= n + k || merge.right >= n + k) return std::nullopt;
    child[merge.left] = child[merge.right] = true;
  }
  const std::vector<double> height = leaf_heights(record, child);
  std::vector<TreeBranch> branches;
  for (std::size_t i = 0; i < n; ++i) branches.push_back({time.axis.low, height[i], view.group[i]});
  std::vector<Series> lines;  // one for each colour, the last for mixed branches
  const double width = std::clamp(90 / static_cast<double>(n), 0.6, 1.6);
  for (const Colour colour : view.scene.palette) lines.push_back(curve(colour, width));
  lines.push_back(curve(report::kGrey, 1.6));
  const auto draw = [&lines](const TreeBranch& b, double to_x, double to_y) {
    Series& s = b.group < 0 ? lines.back() : lines[static_cast<std::size_t>(b.group)];
    for (const auto& [x, y] : {std::pair(b.x, b.y), {to_x, b.y}, {to_x, to_y}, {kNan, kNan}})
      add_point(s, x, y);
  };
  for (const observe::Linkage& merge : record.merges) {
    const TreeBranch a = branches[merge.left], b = branches[merge.right];
    const double x = std::clamp(time.at(merge.time), time.axis.low, time.axis.high);
    const double y = 0.5 * (a.y + b.y);
    draw(a, x, y);
    draw(b, x, y);
    branches.push_back({x, y, a.group == b.group ? a.group : -1});
  }
  for (std::size_t node = 0; node < nodes; ++node)
    if (!child[node]) draw(branches[node], time.axis.high, branches[node].y);
  PageFigure result = framed("merge_tree", "Who merged with whom, and when", time,
                             {.label = "tokens", .ticks = false});
  result.figure.panels[0].series = std::move(lines);
  result.figure.panels[0].y.low = 0;
  result.figure.panels[0].y.high = static_cast<double>(n) + 1;
  result.caption =
      "Every line that starts at the left is a token; lines join when their clusters do. Colours "
      "as above, grey where clusters of several colours have joined.";
  return result;
}

}  // namespace

std::vector<PageFigure> flow_figures(const FlowRecord& record, const FlowView& view) {
  std::vector<PageFigure> figures;
  const auto add = [&figures](std::optional<PageFigure> figure) {
    if (figure) figures.push_back(std::move(*figure));
  };
  const TimeAxis time = time_axis(output_times(record));
  if (!view.empty()) add(token_figure(record, view));
  for (std::optional<PageFigure> figure :
       {cluster_figure(record, time), energy_figure(record, time)}) {
    if (figure) figure->beside = true;
    add(std::move(figure));
  }
  if (view.in_space()) add(extent_figure(record, view, time));
  add(cosine_figure(record, time));
  if (!view.empty()) add(tree_figure(record, view, time));
  if (!view.empty()) add(histogram_figure(record, view));
  return figures;
}

}  // namespace attractor::lab
