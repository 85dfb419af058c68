#include "attractor/commands/limits/stability_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attractor/base/numbers.hpp"

namespace attractor::lab {
namespace {

using meanfield::ClusterHistory;
using meanfield::ClusterMoment;
using meanfield::Stability;

constexpr std::size_t kStems = 60;  // modes drawn one by one

/// Rates are drawn in this unit.
std::string rate_label(const StabilitySetup& p) {
  return p.dynamics == Rule::softmax ? "growth rate σ" : "growth rate σ / λ_{0}";
}

/// Degrees worth drawing: noise takes high ones far below zero.
std::size_t last_drawn(const StabilitySetup& p, const Stability& s, double floor) {
  std::size_t last = std::max<std::size_t>(4, last_mode(p, 1e-3));
  while (last > std::max<std::size_t>(4, s.fastest + 1) && s.rate[last - 1] < floor) --last;
  return last;
}

PageFigure rate_figure(const StabilitySetup& p) {
  const Stability s = meanfield::stability(state_of(p), 4);
  const double top = s.rate[s.fastest] == 0 ? 1.0 : std::abs(s.rate[s.fastest]);
  const double floor = -1.5 * top;
  const std::size_t last = last_drawn(p, s, floor);
  const bool stems = last <= kStems;
  double lowest = 0;
  Series line = curve(report::kBlue, stems ? 1.6 : 2.4), dots{.mark = Mark::points, .size = 4};
  for (std::size_t l = 1; l <= last; ++l) {
    const double degree = static_cast<double>(l);
    lowest = std::min(lowest, s.rate[l]);
    if (stems) add_point(line, degree, 0);
    add_point(line, degree, s.rate[l]);
    if (stems) add_point(line, kNan, kNan);
    if (stems) add_point(dots, degree, s.rate[l]);
  }
  Series fastest{.title = fmt::format("fastest: {}", s.fastest),
                 .mark = Mark::points,
                 .x = {static_cast<double>(s.fastest)},
                 .y = {s.rate[s.fastest]},
                 .colour = report::kVermillion,
                 .size = 6};
  Panel panel{.x = {.label = p.dim == 2 ? "wave number k" : "degree l",
                    .low = 0,
                    .high = static_cast<double>(last) + 1,
                    .whole = true},
              .y = {.label = rate_label(p),
                    .low = std::max(1.1 * lowest, floor),
                    .high = s.is_unstable() ? 1.15 * top : 0.15 * top},
              .series = {line, dots, fastest},
              .horizontal = {{.at = 0, .colour = report::kInk}}};
  return plot("rates", "Growth of every mode of the uniform state", std::move(panel),
              "Modes above zero grow, modes below decay; the highest one sets the number "
              "of clusters. Noise lowers high modes most.");
}

PageFigure fastest_figure(const StabilitySetup& p) {
  constexpr int kPoints = 240;
  const double sign = p.beta < 0 ? -1 : 1;
  const double low = 0.1, high = std::clamp(10 * std::abs(p.beta), 1000.0, 1e6);
  Series mode = curve(report::kBlue, 2.4), rule = curve(report::kInk, 1.4);
  mode.mark = Mark::steps;
  mode.title = "fastest mode without noise";
  rule.title = p.dim == 2 ? "√(2|β|)" : "root of l (l + d − 2) = 2|β|";
  rule.dashed = true;
  for (int k = 0; k <= kPoints; ++k) {
    const double beta = low * std::pow(high / low, static_cast<double>(k) / kPoints);
    const Stability s = meanfield::stability({.dim = p.dim, .beta = sign * beta});
    add_point(mode, beta, static_cast<double>(s.fastest));
    add_point(rule, beta, meanfield::fastest_mode_rule(p.dim, beta));
  }
  const Stability now = meanfield::stability(state_of(p));
  Series here{.title = fmt::format("β = {:.4g}{}", p.beta, p.noise > 0 ? ", with this noise" : ""),
              .mark = Mark::points,
              .x = {std::abs(p.beta)},
              .y = {static_cast<double>(now.fastest)},
              .colour = report::kVermillion,
              .size = 6};
  const bool far = mode.y.back() > 40;
  Panel panel{.x = {.label = sign < 0 ? "−β" : "inverse temperature β",
                    .scale = Scale::log,
                    .low = low,
                    .high = high},
              .y = {.label = "fastest mode",
                    .scale = far ? Scale::log : Scale::linear,
                    .low = far ? 0.7 : 0,
                    .high = std::max(4.0, mode.y.back()) * (far ? 1.4 : 1.1),
                    .whole = true},
              .series = {rule, mode, here}};
  if (sign < 0)
    return plot("fastest", "More negative β, more clusters", std::move(panel),
                "The fastest mode against −β, always an odd one; the dashed rule of thumb is that "
                "of attraction.");
  return plot("fastest", "Colder attention, more clusters", std::move(panel),
              "The fastest mode against inverse temperature; the dashed rule of thumb, rounded, "
              "hits it or the second fastest next to it.");
}

PageFigure observed_figure(const StabilitySetup& p, const std::vector<ClusterHistory>& runs) {
  const std::size_t predicted = meanfield::stability(state_of(p)).predicted_clusters();
  Panel panel{.x = {.label = "e-foldings of the fastest mode", .low = 0},
              .y = {.label = "maxima of the token density", .low = 0, .whole = true}};
  double most = static_cast<double>(predicted);
  const double apart = 0.3 / static_cast<double>(runs.size());
  for (std::size_t r = 0; r < runs.size(); ++r) {
    Series line{.mark = Mark::steps, .colour = report::kPalette[r % report::kPalette.size()]};
    const double shift =
        apart * (static_cast<double>(r) - static_cast<double>(runs.size() - 1) / 2);
    for (const ClusterMoment& m : runs[r].moments) {
      add_point(line, m.e_foldings, static_cast<double>(m.maxima) + shift);
      most = std::max(most, static_cast<double>(m.maxima));
    }
    panel.series.push_back(line);
    const ClusterMoment* formed = runs[r].formation();
    if (formed)
      panel.series.push_back({.mark = Mark::points,
                              .x = {formed->e_foldings},
                              .y = {static_cast<double>(formed->maxima) + shift},
                              .colour = line.colour,
                              .size = 5});
  }
  panel.y.high = most + 1;
  panel.horizontal = {{.at = static_cast<double>(predicted),
                       .width = 1.6,
                       .dashed = true,
                       .label = "the fastest mode"}};
  return {.figure = {.id = "observed",
                     .title = fmt::format("{} independent tokens, {} replicates",
                                          grouped(p.observe), runs.size()),
                     .panels = {panel},
                     .width = kHalf,
                     .height = kPlot},
          .caption =
              "Clusters as maxima of the density that tokens climb. "
              "Dots: all but 5% of the tokens have reached a maximum, clusters have "
              "formed; later ones merge. Lines are shifted a little apart."};
}

}  // namespace

meanfield::UniformState state_of(const StabilitySetup& p) {
  return {.rule = p.dynamics, .dim = p.dim, .beta = p.beta, .noise = p.noise};
}

std::size_t last_mode(const StabilitySetup& p, double share) {
  meanfield::UniformState state = state_of(p);
  state.noise = 0;
  const Stability s = meanfield::stability(state);
  std::size_t last = s.rate.size() - 1;
  while (last > s.fastest && s.rate[last] < share * s.rate[s.fastest]) --last;
  return last;
}

std::vector<PageFigure> stability_figures(const StabilitySetup& p,
                                          const std::vector<ClusterHistory>& runs) {
  std::vector<PageFigure> figures = {rate_figure(p), fastest_figure(p)};
  if (!runs.empty()) figures.push_back(observed_figure(p, runs));
  return figures;
}

}  // namespace attractor::lab
