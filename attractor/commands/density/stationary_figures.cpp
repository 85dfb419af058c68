#include "attractor/commands/density/stationary_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "attractor/base/numbers.hpp"

namespace attractor::lab {
namespace {

using meanfield::StationaryState;

/// Two lines along the branch: what is stable solid, what is not dashed.
template <class Y>
std::vector<Series> branch_lines(const StationaryRecord& r,
                                 const std::vector<StationaryState>& path, const Y& y) {
  Series stable = curve(report::kBlue, 2.4), unstable = curve(report::kBlue, 1.6);
  stable.title = "ordered, stable";
  unstable.title = "ordered, unstable";
  unstable.dashed = true;
  for (const StationaryState& state : path) {
    // Both lines reach the fold and the uniform state, where one begins and the other ends.
    const bool shared = state.order == 0 || (r.branch.fold && state.order == r.branch.fold->order);
    const double height = y(state);
    add_point(stable, state.noise_ratio, shared || state.stable() ? height : kNan);
    add_point(unstable, state.noise_ratio, shared || !state.stable() ? height : kNan);
  }
  std::vector<Series> lines = {std::move(stable)};
  if (r.branch.fold) lines.push_back(std::move(unstable));
  return lines;
}

void add_guides(const StationaryRecord& r, Panel& panel) {
  panel.vertical.push_back({.at = 1, .colour = report::kGrey, .width = 1.4, .label = "κ_{#}"});
  if (r.branch.transition)
    panel.vertical.push_back({.at = r.branch.transition->noise_ratio,
                              .colour = report::kGreen,
                              .width = 1.4,
                              .label = "κ_{c}"});
  if (r.branch.fold)
    panel.vertical.push_back({.at = r.branch.fold->noise_ratio,
                              .colour = report::kVermillion,
                              .dashed = true,
                              .label = "fold"});
}

std::string guide_words(const StationaryRecord& r) {
  std::string text = " Below κ_{#} the uniform state is unstable.";
  if (r.branch.transition) text += " At κ_{c} both free energies are equal.";
  if (r.branch.fold) text += " Beyond the fold there is no ordered state.";
  return text;
}

/// Where the branch is worth looking at: around the transition.
std::pair<double, double> shown_ratios(const StationaryRecord& r) {
  const double most = r.branch.fold ? r.branch.fold->noise_ratio : 1;
  double low = r.branch.fold ? std::max(0.0, 1 - 3 * (most - 1)) : 0,
         high = most + 0.1 * (most - low);
  for (const auto* levels : {&r.sweep.up, &r.sweep.down})
    for (const auto& level : *levels) {
      low = std::min(low, level.noise_ratio - 0.01);
      high = std::max(high, level.noise_ratio + 0.01);
    }
  if (r.noise_ratio) low = std::min(low, 0.95 * *r.noise_ratio);
  return {low, high};
}

Series dots(std::string title, report::Colour colour) {
  Series series{.title = std::move(title), .mark = Mark::points};
  series.colour = colour;
  series.size = 4.6;
  return series;
}

PageFigure order_figure(const StationaryRecord& r, const std::vector<StationaryState>& path) {
  const auto [low, high] = shown_ratios(r);
  Panel panel{.x = {.label = "noise κ / κ_{#}", .low = low, .high = high},
              .y = {.label = "order parameter R", .low = 0, .high = 1.02}};
  panel.series = branch_lines(r, path, [](const StationaryState& s) { return s.order; });
  Series uniform = curve(report::kInk, 2.4), lost = curve(report::kInk, 1.6);
  uniform.title = "uniform";
  lost.dashed = true;
  for (const double x : {1.0, high}) add_point(uniform, x, 0);
  for (const double x : {low, 1.0}) add_point(lost, x, 0);
  panel.series.push_back(std::move(uniform));
  panel.series.push_back(std::move(lost));
  if (!r.sweep.up.empty()) {
    Series up = dots("particles, noise raised", report::kOrange);
    Series down = dots("particles, noise lowered", report::kPurple);
    for (const auto& level : r.sweep.up) add_point(up, level.noise_ratio, level.order);
    for (const auto& level : r.sweep.down) add_point(down, level.noise_ratio, level.order);
    panel.series.push_back(std::move(up));
    panel.series.push_back(std::move(down));
  }
  add_guides(r, panel);
  return plot("order", "Order against noise", std::move(panel),
              "Solid: stable states; dashed: unstable ones." + guide_words(r));
}

PageFigure energy_figure(const StationaryRecord& r, const std::vector<StationaryState>& path) {
  const auto [low, high] = shown_ratios(r);
  Panel panel{.x = {.label = "noise κ / κ_{#}", .low = low, .high = high},
              .y = {.label = "free energy over that of uniform, units of κ_{#}"}};
  panel.series = branch_lines(r, path, [low = low](const StationaryState& s) {
    return s.noise_ratio < low ? kNan : s.excess_energy;
  });
  panel.horizontal.push_back({.at = 0, .colour = report::kInk, .label = "uniform"});
  add_guides(r, panel);
  return plot("energy", "Free energy along the branch", std::move(panel),
              "Below zero the ordered state is preferred." + guide_words(r));
}

PageFigure density_figure(const StationaryRecord& r) {
  Panel panel{.x = {.label = "angle to the axis, radians", .low = 0, .high = std::numbers::pi},
              .y = {.label = "density / uniform", .low = 0}};
  for (std::size_t k = 0; k < r.states.size(); ++k) {
    Series line = curve(report::kPalette[k % report::kPalette.size()], 2.4);
    line.title = fmt::format("R = {:.4f}, {}", r.states[k].order,
                             r.states[k].stable() ? "stable" : "unstable");
    line.dashed = !r.states[k].stable();
    const double parts = static_cast<double>(r.densities[k].size() - 1);
    for (std::size_t j = 0; j < r.densities[k].size(); ++j)
      add_point(line, std::numbers::pi * static_cast<double>(j) / parts, r.densities[k][j]);
    panel.series.push_back(std::move(line));
  }
  panel.horizontal.push_back({.at = 1, .colour = report::kInk, .label = "uniform"});
  return plot("density", fmt::format("Stationary densities at κ = {:.5g} κ_{{#}}", *r.noise_ratio),
              std::move(panel), "Density of tokens at an angle from the axis; 1 is uniform.");
}

PageFigure diagram_figure(const StationaryRecord& r) {
  Panel panel{.x = {.label = "inverse temperature β"}, .y = {.label = "noise κ / κ_{#}"}};
  Series fold = curve(report::kVermillion, 2), jump = curve(report::kGreen, 2.4),
         size = curve(report::kBlue, 1.6);
  fold.title = "fold";
  fold.dashed = true;
  jump.title = "κ_{c}";
  size.title = "jump of R";
  for (const auto& point : r.diagram) {
    add_point(fold, point.beta, point.fold_ratio);
    add_point(jump, point.beta, point.transition_ratio);
    add_point(size, point.beta, point.jump);
  }
  panel.series = {std::move(fold), std::move(jump), std::move(size)};
  panel.horizontal.push_back({.at = 1, .label = "κ_{#}"});
  if (r.model.rule == Rule::unnormalised)
    panel.vertical.push_back({.at = meanfield::tricritical_beta(r.model.dim), .label = "β_{*}"});
  return plot("diagram", "Where order appears, against β", std::move(panel),
              "Between κ_{#} (ratio 1) and the fold both states are stable. This region opens at "
              "β_{*}, and the jump of R with it.");
}

/// How far a state stands from the line between two others, on the plot of order against noise.
double bend(const StationaryState& a, const StationaryState& b, const StationaryState& between,
            double wide) {
  const double x = (b.noise_ratio - a.noise_ratio) / wide, y = b.order - a.order;
  const double u = (between.noise_ratio - a.noise_ratio) / wide, v = between.order - a.order;
  const double length = std::hypot(x, y);
  return length > 0 ? std::abs(x * v - y * u) / length : std::hypot(u, v);
}

void refine(meanfield::StationarySolver& solver, const StationaryState& a, const StationaryState& b,
            double wide, int depth, std::vector<StationaryState>& path) {
  constexpr double kPixel = 1.0 / 400;
  const std::optional<StationaryState> middle = solver.between(a, b, 0.5);
  if (middle && middle->order > a.order && middle->order < b.order && depth > 0 &&
      bend(a, b, *middle, wide) > kPixel) {
    refine(solver, a, *middle, wide, depth - 1, path);
    refine(solver, *middle, b, wide, depth - 1, path);
    return;
  }
  if (middle && middle->order > a.order && middle->order < b.order) path.push_back(*middle);
  path.push_back(b);
}

}  // namespace

std::vector<StationaryState> smooth_branch(meanfield::StationarySolver& solver,
                                           const meanfield::Branch& branch) {
  std::vector<StationaryState> path = {solver.uniform(1)};
  if (branch.states.empty()) return path;
  const double wide = branch.fold ? 4 * (branch.fold->noise_ratio - 1) : 1;
  path.push_back(branch.states.front());
  for (std::size_t k = 1; k < branch.states.size(); ++k)
    refine(solver, branch.states[k - 1], branch.states[k], wide, 5, path);
  if (!branch.fold) return path;
  auto place = path.begin();
  while (place != path.end() && place->order < branch.fold->order) ++place;
  path.insert(place, *branch.fold);
  return path;
}

std::vector<PageFigure> stationary_figures(const StationaryRecord& r) {
  meanfield::StationarySolver solver(r.model);
  const std::vector<StationaryState> path = smooth_branch(solver, r.branch);
  std::vector<PageFigure> figures = {order_figure(r, path)};
  if (r.model.rule == Rule::unnormalised) figures.push_back(energy_figure(r, path));
  if (!r.states.empty()) figures.push_back(density_figure(r));
  if (!r.diagram.empty()) figures.push_back(diagram_figure(r));
  return figures;
}

}  // namespace attractor::lab
