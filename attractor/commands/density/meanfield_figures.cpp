#include "attractor/commands/density/meanfield_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attractor/base/numbers.hpp"

namespace attractor::lab {
namespace {

using meanfield::Comparison;
using meanfield::ComparisonRow;

constexpr double kEmpty = 1e-3;  // densities below are drawn as this
constexpr std::size_t kProfiles = 6;

std::string angle_label(const MeanfieldKind& kind) {
  return kind.geometry == Geometry::circle ? "angle θ, radians" : "polar angle, radians";
}

/// The colours reach from the emptiest place to the most crowded one, and never less than a factor
/// of 1.2 each way: what hardly changes looks even, what changes is seen.
PageFigure heat_figure(const MeanfieldKind& kind, const MeanfieldRecord& r) {
  Heat heat{.x = r.angles, .label = "log_{10} density / uniform"};
  double least = 1 / 1.2, most = 1.2;
  for (std::size_t k = 0; k < r.history.size(); ++k) {
    heat.y.push_back(r.history[k].time);
    for (const double f : r.density[k]) {
      heat.value.push_back(std::log10(std::max(f, kEmpty)));
      most = std::max(most, f);
      least = std::min(least, std::max(f, kEmpty));
    }
  }
  heat.low = std::log10(least);
  heat.high = std::log10(most);
  PageFigure result =
      plot("density", "Density over time",
           {.x = {.label = angle_label(kind), .low = r.angles.front(), .high = r.angles.back()},
            .y = {.label = "time t", .low = 0, .high = r.history.back().time},
            .heat = std::move(heat)},
           "Each row is the density of tokens at one time, relative to uniform ones (0 on the "
           "scale). Bright: crowded; dark: deserted.");
  result.beside = true;
  return result;
}

PageFigure profile_figure(const MeanfieldKind& kind, const MeanfieldRecord& r) {
  Panel panel{.x = {.label = angle_label(kind), .low = r.angles.front(), .high = r.angles.back()},
              .y = {.label = "density / uniform", .scale = Scale::log}};
  const std::size_t last = r.history.size() - 1, shown = std::min(kProfiles, last + 1);
  for (std::size_t k = 0; k < shown; ++k) {
    const std::size_t row = shown > 1 ? k * last / (shown - 1) : 0;
    Series series = curve(report::kPalette[k % report::kPalette.size()], 2);
    series.title = fmt::format("t = {:.4g}", r.history[row].time);
    for (std::size_t j = 0; j < r.angles.size(); ++j)
      add_point(series, r.angles[j], std::max(r.density[row][j], kEmpty));
    panel.series.push_back(std::move(series));
  }
  std::string caption =
      "The density over the angle, relative to uniform tokens, on a logarithmic scale.";
  if (!kind.spectral)
    caption += " Between the last labels of two crowds it is a mean over the void.";
  return plot("profiles", "Density at several times", std::move(panel), std::move(caption));
}

PageFigure history_figure(std::string id, std::string title, Axis y, Series series,
                          std::string caption) {
  return plot(std::move(id), std::move(title), {.label = "time t", .clock = "time"}, std::move(y),
              {std::move(series)}, std::move(caption));
}

PageFigure order_figure(const MeanfieldRecord& r) {
  Series series = curve(report::kVermillion, 2.4);
  for (const MeanfieldMoment& m : r.history) add_point(series, m.time, m.order);
  return history_figure("order", "Order parameter", {.label = "|E x|", .low = 0, .high = 1.02},
                        std::move(series),
                        "0: tokens balance each other; 1: all of them are on one point.");
}

PageFigure peak_figure(const MeanfieldRecord& r) {
  Series series = curve(report::kGreen, 2.4);
  for (std::size_t k = 0; k < r.history.size(); ++k) {
    double most = 0;  // places where the density is not known (NaN) do not count
    for (const double f : r.density[k]) most = std::max(most, f);
    add_point(series, r.history[k].time, most);
  }
  const bool far =
      series.y.back() > 30 * series.y.front() || series.y.front() > 30 * series.y.back();
  return history_figure("peak", "The densest place",
                        {.label = "density / uniform", .scale = far ? Scale::log : Scale::linear},
                        std::move(series), "1 is uniform; a crowd grows until it is a point.");
}

PageFigure free_energy_figure(const MeanfieldSetup& p, const MeanfieldRecord& r) {
  Series series = curve(report::kPurple, 2.4);
  for (const MeanfieldMoment& m : r.history) add_point(series, m.time, free_energy(p, m));
  return history_figure("free-energy", "Free energy", {.label = "F"}, std::move(series),
                        "Attention and noise together are the steepest descent of F: it can only "
                        "fall, and rests where the density does.");
}

Series measured(const Comparison& c, std::string title, report::Colour colour,
                double ComparisonRow::*value) {
  Series dots{.title = std::move(title), .mark = Mark::points, .colour = colour, .size = 5};
  for (const ComparisonRow& row : c.rows)
    add_point(dots, static_cast<double>(row.tokens), row.*value);
  return dots;
}

/// n^{-1/2} through the first point.
Series root_line(const Comparison& c, double ComparisonRow::*value) {
  Series line = curve(report::kInk, 1.4);
  line.dashed = true;
  for (const ComparisonRow& row : c.rows)
    add_point(line, static_cast<double>(row.tokens),
              c.rows.front().*value * std::sqrt(static_cast<double>(c.rows.front().tokens) /
                                                static_cast<double>(row.tokens)));
  return line;
}

PageFigure comparison_figure(const Comparison& c) {
  PageFigure result{.figure = {.id = "particles", .title = "Tokens approach the density"},
                    .caption =
                        "Distance of n independent tokens to the density at the end, over "
                        "replicates: rms distance of E x, and mean Wasserstein-1 distance. "
                        "For large n both fall like n^{−1/2} (dashed); the later the time, "
                        "the larger n must be."};
  Series moment_line = root_line(c, &ComparisonRow::rms_moment);
  moment_line.title = "n^{−1/2}";
  result.figure.width = kHalf;
  result.figure.height = kPlot;
  result.figure.panels = {
      Panel{.x = {.label = "tokens n", .scale = Scale::log},
            .y = {.label = "distance", .scale = Scale::log},
            .series = {std::move(moment_line), root_line(c, &ComparisonRow::mean_w1),
                       measured(c, "E x, rms", report::kBlue, &ComparisonRow::rms_moment),
                       measured(c, "W_{1}, mean", report::kOrange, &ComparisonRow::mean_w1)}}};
  return result;
}

}  // namespace

double free_energy(const MeanfieldSetup& p, const MeanfieldMoment& moment) {
  if (p.dynamics != Rule::unnormalised) return kNan;
  const double order = p.noise > 0 ? p.noise * moment.entropy : 0;  // labels know no entropy
  return order - std::exp(moment.log_energy);
}

std::vector<PageFigure> meanfield_figures(const MeanfieldSetup& p, const MeanfieldKind& kind,
                                          const MeanfieldRecord& record,
                                          const Comparison& comparison) {
  std::vector<PageFigure> figures;
  if (record.history.empty()) return figures;
  const bool moved = record.history.size() > 1 && record.history.back().time > 0;
  if (!record.density.empty()) {
    if (moved) figures.push_back(heat_figure(kind, record));
    figures.push_back(profile_figure(kind, record));
  }
  if (moved && !record.density.empty()) {
    figures.push_back(peak_figure(record));
    figures.back().beside = true;
  }
  // Crowds that balance each other have none.
  const bool ordered = std::any_of(record.history.begin(), record.history.end(),
                                   [](const MeanfieldMoment& m) { return m.order > 1e-3; });
  if (moved && (ordered || record.density.empty())) figures.push_back(order_figure(record));
  if (moved && p.noise > 0 && p.dynamics == Rule::unnormalised)
    figures.push_back(free_energy_figure(p, record));
  if (comparison.rows.size() > 1) figures.push_back(comparison_figure(comparison));
  return figures;
}

}  // namespace attractor::lab
