#include "attractor/commands/reduce/pair_experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <utility>

#include "attractor/base/error.hpp"
#include "attractor/commands/command.hpp"
#include "attractor/lab/words.hpp"
#include "attractor/reductions/cluster_pair.hpp"

namespace attractor::lab {
namespace {

using meanfield::ClusterPair;
using meanfield::PairAngle;

struct Case {
  ClusterPair pair;
  PairAngle from, to;
  std::optional<flow::Time> time;
};

PairAngle start(const PairSetup& p) {
  if (p.angle && p.degrees)
    throw Error(fmt::format("angle = {} and degrees = {} say the same; give one of them", *p.angle,
                            *p.degrees));
  return p.angle ? PairAngle::of(*p.angle) : PairAngle::of_degrees(p.degrees.value_or(90));
}

std::optional<flow::Time> moment(const PairSetup& p) {
  if (p.time && p.log10_time)
    throw Error(fmt::format("time = {} and log10-time = {} say the same; give one of them", *p.time,
                            *p.log10_time));
  if (p.time) return flow::Time(*p.time);
  if (p.log10_time) return flow::Time(1, *p.log10_time * std::numbers::ln10);
  return std::nullopt;
}

Case read(const PairSetup& p) {
  return {.pair = {.rule = p.dynamics, .beta = p.beta, .mass1 = p.mass1, .mass2 = p.mass2},
          .from = start(p),
          .to = PairAngle::of_cosine(p.merge_cosine),
          .time = moment(p)};
}

// ---- Figures.

/// Place and log10 time along the way; close to the start where the time is spent.
std::vector<std::pair<PairAngle, double>> way(const Case& c) {
  const double span = c.from.log_tangent - c.to.log_tangent;
  const double steepness = std::abs(c.pair.beta) * std::exp(2 * c.from.log_sine());
  const double first = 1e-3 * std::min(span, 1 / (1 + steepness));
  std::vector<std::pair<PairAngle, double>> points;
  constexpr int kPoints = 240;
  for (int k = 0; k <= kPoints; ++k) {
    const PairAngle at{c.from.log_tangent - first * std::pow(span / first, k / double{kPoints})};
    points.emplace_back(at, log_merge_time(c.pair, c.from, at) / std::numbers::ln10);
  }
  return points;
}

PageFigure angle_figure(const Case& c) {
  Series angle = curve(report::kBlue, 2.4);
  for (const auto& [at, log10_time] : way(c))
    add_point(angle, log10_time, at.angle() * 180 / std::numbers::pi);
  return plot("angle", "Long rest, sudden merger",
              {.x = {.label = "time t", .scale = Scale::power},
               .y = {.label = "angle between the clusters, degrees", .low = 0},
               .series = {std::move(angle)}},
              "The angle on a logarithmic clock, from the start to the merge cosine: at large β it "
              "hardly moves for most of the time.");
}

PageFigure beta_figure(const Case& c) {
  Series exact = curve(report::kVermillion, 2.4), formula = curve(report::kInk, 1.4);
  exact.title = "exact";
  const double exponent = lifetime_exponent(c.pair, c.from);
  formula.title =
      fmt::format("e^{{{:.3g} β}} / (β sin^{{2}}δ M)", std::abs(exponent) < 1e-12 ? 0 : exponent);
  formula.dashed = true;
  const double most = std::clamp(2 * c.pair.beta, 10.0, 1e6), least = c.pair.beta < 0 ? -20 : 0;
  for (int k = 1; k <= 120; ++k) {
    ClusterPair pair = c.pair;
    pair.beta = least + (most - least) * k / 120;
    add_point(exact, pair.beta, log_merge_time(pair, c.from, c.to) / std::numbers::ln10);
    if (pair.beta > 0)
      add_point(formula, pair.beta, log_asymptotic_time(pair, c.from) / std::numbers::ln10);
  }
  PageFigure figure =
      plot("lifetime", "Lifetime against inverse temperature",
           {.x = {.label = "inverse temperature β", .low = least, .high = most},
            .y = {.label = "merge time", .scale = Scale::power},
            .series = {std::move(exact), std::move(formula)}},
           "Merge time of this pair at other β. Dashed: the large-β formula with M = " +
               std::string(c.pair.rule == Rule::softmax ? "m_{1}/m_{2} + m_{2}/m_{1}"
                                                        : "m_{1} + m_{2}") +
               ".");
  if (c.pair.beta != 0)
    figure.figure.panels[0].vertical = {
        {.at = c.pair.beta, .label = fmt::format("β = {:.4g}", c.pair.beta)}};
  return figure;
}

// ---- Result.

void fill(const Case& c, Json& values) {
  const double log_time = log_merge_time(c.pair, c.from, c.to);
  values["merge_time"] = number_of_log(log_time);
  values["log_merge_time"] = number(log_time);
  values["log10_merge_time"] = number(log_time / std::numbers::ln10);
  values["asymptotic_log_time"] = number(log_asymptotic_time(c.pair, c.from));
  // Where the formula is infinite there is nothing to compare with.
  values["ratio_to_asymptotic"] =
      c.pair.beta > 0 ? number(ratio_to_asymptotic(c.pair, c.from, c.to)) : Json();
  values["lifetime_exponent"] = number(lifetime_exponent(c.pair, c.from));
  values["start_angle"] = number(c.from.angle());
  values["log_speed"] = number(log_speed(c.pair, c.from));
  values["escape_rate"] = number_of_log(log_escape_rate(c.pair));
  values["log_escape_rate"] = number(log_escape_rate(c.pair));
  if (!c.time) return;
  const PairAngle there = angle_after(c.pair, c.from, *c.time);
  values["angle"] = number(there.angle());
  values["angle_degrees"] = number(there.angle() * 180 / std::numbers::pi);
  values["cosine"] = number(there.cosine());
  values["cosine_gap"] = number(there.gap());
}

std::string headline(const Case& c, double log_time) {
  const std::string who = fmt::format(
      "Two clusters of masses {:.4g} and {:.4g} at {:.4g}°, {} at β = {:.6g}", c.pair.mass1,
      c.pair.mass2, c.from.angle() * 180 / std::numbers::pi,
      c.pair.rule == Rule::softmax ? "softmax attention" : "unnormalised attention", c.pair.beta);
  if (c.from.antipodal()) return who + ", are antipodal and rest.";
  if (std::isinf(log_time)) return who + ", have merged already.";
  return fmt::format("{}, merge at t = {}.", who, power_text(log_time / std::numbers::ln10));
}

std::vector<Tile> pair_tiles(const Case& c) {
  const double log_time = log_merge_time(c.pair, c.from, c.to);
  std::vector<Tile> all;
  if (std::isfinite(log_time))
    add_tile(all, "merge time", power_text(log_time / std::numbers::ln10),
             fmt::format("until the cosine is {:.6g}", c.to.cosine()));
  if (std::isfinite(log_time) && c.pair.beta > 0)
    add_tile(all, "large-β formula",
             power_text(log_asymptotic_time(c.pair, c.from) / std::numbers::ln10),
             "of the same time");
  add_tile(all, "lifetime exponent", rounded(lifetime_exponent(c.pair, c.from)),
           "c of the lifetime e^{cβ}");
  add_tile(all, "angle at the start",
           fmt::format("{:.4g}°", c.from.angle() * 180 / std::numbers::pi), "between the clusters");
  add_tile(all, "escape rate", power_text(log_escape_rate(c.pair) / std::numbers::ln10),
           "of a pair that is almost antipodal");
  if (c.time) {
    const PairAngle there = angle_after(c.pair, c.from, *c.time);
    add_tile(all, "angle at t = " + plain_words(*c.time),
             fmt::format("{:.4g}°", there.angle() * 180 / std::numbers::pi), "as asked for");
  }
  return all;
}

}  // namespace

Json number_of_log(double log_value) {
  const double value = std::exp(log_value);
  return value == 0 && std::isfinite(log_value) ? Json() : number(value);
}

ParameterList list(PairSetup& p) {
  ParameterList l;
  l.group("Pair");
  l.add("dynamics", p.dynamics, "sa: softmax attention; usa: unnormalised")
      .among({Rule::softmax, Rule::unnormalised});
  l.add("beta", p.beta, "inverse temperature").within(-20, 1e6);
  l.add("angle", p.angle, "angle between the clusters, radians (default: 90 degrees)")
      .within(0, std::numbers::pi)
      .otherwise("")
      .allow("0 to pi");
  l.add("degrees", p.degrees, "the same in degrees; exact close to 180")
      .within(0, 180)
      .otherwise("");
  l.add("mass1", p.mass1, "first cluster's share of all mass; sa: only mass1 / mass2 counts")
      .above(0, 1);
  l.add("mass2", p.mass2, "second cluster's share; usa: the two sum to at most 1").above(0, 1);
  l.group("Time");
  l.add("merge-cosine", p.merge_cosine, "merged means this cosine").above(-1, 1 - 1e-15);
  l.add("time", p.time, "also give the angle at this time")
      .within(0, std::numeric_limits<double>::max())
      .otherwise("")
      .allow("a finite number from 0");
  l.add("log10-time", p.log10_time, "the same by log10 of the time")
      .within(-1e9, 1e9)
      .otherwise("");
  return l;
}

Result ask(const PairSetup& p, const Context&) {
  check_setup(p);
  const Case c = read(p);
  Result answer{.title = "Two clusters", .headline = ""};
  fill(c, answer.values);
  answer.tiles = pair_tiles(c);
  answer.headline = headline(c, log_merge_time(c.pair, c.from, c.to));
  if (c.from.antipodal()) {
    answer.remarks.push_back(
        "An antipodal pair is an equilibrium; a deviation from it grows at the escape rate.");
    return answer;
  }
  const bool merged = c.from.log_tangent <= c.to.log_tangent;
  if (merged) answer.remarks.push_back("The pair starts beyond the merge cosine.");
  if (!merged) answer.draw = [c] { return std::vector{angle_figure(c), beta_figure(c)}; };
  return answer;
}

Command pair_command() {
  return {
      .name = "reduce pair",
      .about = "Two clusters: when they merge, at any beta",
      .examples =
          "  attractor reduce pair --beta 1000 --degrees 90\n"
          "  attractor reduce pair --dynamics usa --beta 9 --angle 1.2 --mass1 0.25 --mass2 0.75\n"
          "Theory: docs/theory/metastability.md.",
      .make = ask_request<PairSetup>};
}

}  // namespace attractor::lab
