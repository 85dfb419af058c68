#include "attractor/commands/reduce/equiangular_experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>

#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/commands/command.hpp"
#include "attractor/lab/number_list.hpp"
#include "attractor/lab/words.hpp"
#include "attractor/reductions/equiangular_layers.hpp"

namespace attractor::lab {
namespace {

using meanfield::Arrival;
using meanfield::Equiangular;
using meanfield::EquiangularFlow;
using meanfield::EquiangularLayer;
using meanfield::EquiangularState;

/// A point of the way: ln t, cosine, ln(1 - cosine).
struct Moment {
  double log_time, cosine, log_gap;
};

struct Asked {
  EquiangularFlow flow;
  double log_time;
  std::vector<double> levels;
  std::vector<Moment> way{};
  std::vector<EquiangularLayer> layers{};
  double step = 1;
  const Equiangular& problem() const { return flow.problem(); }
  double cosine() const { return layers.empty() ? flow.at(log_time).cosine : layers.back().cosine; }
};

double asked_log_time(const EquiangularSetup& p) {
  if (p.layers > 0) return std::log(static_cast<double>(p.layers) * p.step);
  return p.log10_time ? *p.log10_time * std::numbers::ln10 : std::log(p.time);
}

// Positions, not times, are spaced evenly: a collapse may take a small part of its time only.
std::vector<Moment> way_of(const EquiangularFlow& flow, double least_log_gap) {
  const double start = flow.problem().cosine0, room = 1 - start;
  std::vector<Moment> way;
  const auto add = [&](double cosine, double log_gap, const Arrival& arrival) {
    if (arrival.status == Arrival::Status::reached)
      way.push_back({arrival.log_time, cosine, log_gap});
  };
  constexpr int kParts = 64;
  const bool close = start > 0.5;  // where a cosine has fewer digits than its gap
  for (int k = -5; k <= kParts / 2; ++k) {
    const double part = (k <= 0 ? std::pow(10.0, (k - 1) / 4.0) : k) / kParts;
    const double log_gap = std::log(room) + std::log1p(-part);
    const double cosine = close ? -std::expm1(log_gap) : start + room * part;
    add(cosine, close ? log_gap : std::log1p(-cosine),
        close ? flow.arrival_at_gap(log_gap) : flow.arrival(cosine));
  }
  const double from = std::log(room / 2);
  for (int k = 1; k <= kParts; ++k) {
    const double log_gap = from + (least_log_gap - from) * k / kParts;
    add(-std::expm1(log_gap), log_gap, flow.arrival_at_gap(log_gap));
  }
  return way;
}

// ---- Words.

std::string log_time_text(double log_time) {
  const double power = log_time / std::numbers::ln10;
  // Not an exponent of three hundred digits.
  return std::abs(power) < 1e9 ? power_text(power) : fmt::format("10^{{({:.6g})}}", power);
}

std::string scheme_words(const Equiangular& e) {
  if (e.rule == Rule::unnormalised) return "unnormalised attention";
  return fmt::format("{} normalisation", name(e.norm));
}

std::string headline(const Asked& a) {
  const Equiangular& e = a.problem();
  const std::string who = fmt::format("{} equiangular tokens at β = {:.6g} under {}",
                                      rounded(e.tokens), e.beta, scheme_words(e));
  const double log_gap = a.layers.empty() ? a.flow.at(a.log_time).log_gap : a.layers.back().log_gap;
  const bool plain = log_gap > std::log(1e-6) || log_gap < -1e5;
  const std::string where =
      plain ? fmt::format("{:.7g}", a.cosine()) : "1 − " + log_time_text(log_gap);
  if (!a.layers.empty())
    return fmt::format("{} have the cosine {} after {} layers of depth {:.6g}", who, where,
                       grouped(a.layers.size() - 1), a.step);
  std::string text = fmt::format("{} have the cosine {} at time {}", who, where,
                                 std::isinf(a.log_time) ? "0" : log_time_text(a.log_time));
  const Arrival half = a.flow.half_collapse();
  if (half.status == Arrival::Status::reached)
    text += fmt::format("; 1 − cosine has halved at time {}", log_time_text(half.log_time));
  return text;
}

/// A collapse may be so sudden that the digits of a double do not say whether it has happened.
void remark_suddenness(const Asked& a, Result& answer) {
  if (!a.layers.empty() || std::isinf(a.log_time)) return;
  const double last_digits = 4e-16 * std::max(1.0, std::abs(a.log_time));
  const double before = a.flow.at(a.log_time - last_digits).cosine;
  const double after = a.flow.at(a.log_time + last_digits).cosine;
  if (after - before > 1e-6)
    answer.remarks.push_back(fmt::format(
        "The collapse is so sudden that the last digit of the time decides: the cosine lies "
        "between {:.6g} and {:.6g}.",
        before, after));
}

// ---- Values and tables.

/// What 1 - cosine goes like, with K the terminal constant.
std::string late_law(const Equiangular& e) {
  if (e.rule == Rule::unnormalised) return "n K^n exp(-2 exp(beta) t)";
  return std::string(scheme(e.norm).late_law);
}

void add_values(const Asked& a, Result& answer) {
  const Equiangular& e = a.problem();
  Json& v = answer.values;
  const EquiangularState s = a.flow.at(a.log_time);
  const bool layered = !a.layers.empty();
  const double cosine = layered ? a.layers.back().cosine : s.cosine;
  const double log_gap = layered ? a.layers.back().log_gap : s.log_gap;
  const double log_norm = layered ? a.layers.back().log_norm : s.log_norm;
  v["cosine"] = number(cosine);
  v["norm"] = number(std::exp(log_norm));
  v["gap"] = number(std::exp(log_gap));
  v["log_gap"] = number(log_gap);
  v["log_norm"] = number(log_norm);
  v["energy_ratio"] = number(meanfield::energy_ratio(e.tokens, e.beta, log_gap));
  v["log_time"] = number(a.log_time);
  if (layered) {
    v["flow_cosine"] = number(s.cosine);
    v["flow_norm"] = number(s.norm());
    return;
  }
  v["speed"] = number(s.speed());
  const Arrival half = a.flow.half_collapse();
  v["half_time"] = number(half.time());
  v["log_half_time"] = number(half.log_time);
  const double log_k = a.flow.log_terminal_constant();
  v["terminal_constant"] = number(std::exp(log_k));
  v["log_terminal_constant"] = number(log_k);
  v["late_law"] = std::isnan(log_k) ? Json() : Json(late_law(e));
  meanfield::Sensitivity by{kNan, kNan, kNan, kNan};
  if (std::isfinite(s.log_gap)) by = a.flow.sensitivity(s.log_gap);
  v["cosine_by_beta"] = number(by.cosine_by_beta);
  v["cosine_by_log_tokens"] = number(by.cosine_by_log_tokens);
  v["log_time_by_beta"] = number(by.log_time_by_beta);
  v["log_time_by_log_tokens"] = number(by.log_time_by_log_tokens);
}

std::vector<Tile> equiangular_tiles(const Asked& a) {
  const Equiangular& e = a.problem();
  const bool layered = !a.layers.empty();
  const EquiangularState s = a.flow.at(a.log_time);
  const double cosine = layered ? a.layers.back().cosine : s.cosine;
  const double log_gap = layered ? a.layers.back().log_gap : s.log_gap;
  const double log_norm = layered ? a.layers.back().log_norm : s.log_norm;
  std::vector<Tile> all;
  add_tile(all, "cosine", close_to_one(cosine, std::exp(log_gap)),
           layered ? fmt::format("of any two tokens after {} layers", grouped(a.layers.size() - 1))
                   : "of any two tokens at " +
                         (std::isinf(a.log_time) ? "t = 0" : "t = " + log_time_text(a.log_time)));
  add_tile(all, "1 − cosine", log_time_text(log_gap), "what is left to consensus");
  add_tile(all, "energy", rounded(meanfield::energy_ratio(e.tokens, e.beta, log_gap)),
           "of the largest possible");
  if (log_norm != 0) add_tile(all, "length", log_time_text(log_norm), "of every token");
  if (layered) {
    add_tile(all, "thin layers", rounded(s.cosine), "cosine of the flow at the same depth");
    return all;
  }
  const Arrival half = a.flow.half_collapse();
  if (half.status == Arrival::Status::reached)
    add_tile(all, "half of the way", "t = " + log_time_text(half.log_time),
             "when 1 − cosine has halved");
  add_tile(all, "speed", rounded(s.speed()), "of the cosine, now");
  return all;
}

double first_layer(const std::vector<EquiangularLayer>& layers, double level) {
  const auto at = std::find_if(layers.begin(), layers.end(),
                               [&](const EquiangularLayer& l) { return l.cosine >= level; });
  return at == layers.end() ? kNan : static_cast<double>(at - layers.begin());
}

void add_tables(const Asked& a, Result& answer) {
  const bool layered = !a.layers.empty();
  Table levels{.name = "levels",
               .title = "When the cosine passes a level",
               .columns = {"cosine", "time", "log_time"}};
  if (layered) levels.columns.push_back("layer");
  bool beyond = false, passed = false;
  for (const double level : a.levels) {
    const bool behind = level <= a.problem().cosine0;
    const Arrival arrival =
        behind ? Arrival{Arrival::Status::reached, -kInfinity} : a.flow.arrival(level);
    passed = passed || behind;
    levels.rows.push_back({level, arrival.time(), arrival.log_time});
    if (layered) levels.rows.back().push_back(first_layer(a.layers, level));
    beyond = beyond || arrival.status == Arrival::Status::beyond_range;
  }
  if (beyond)
    answer.remarks.push_back(
        "Levels without a time are reached, but at times whose logarithm exceeds 10^300.");
  if (passed)
    answer.remarks.push_back(
        "Levels up to cosine0 are passed from the start: their time is 0, which has no logarithm.");
  answer.tables.push_back(std::move(levels));
  Table curve{.name = "curve",
              .title = "The way of the flow",
              .columns = {"log_time", "cosine", "log_gap"},
              .only_data = true};
  for (const Moment& p : a.way) curve.rows.push_back({p.log_time, p.cosine, p.log_gap});
  answer.tables.push_back(std::move(curve));
  if (!layered) return;
  Table layers{.name = "layers",
               .title = "The way through layers",
               .columns = {"layer", "cosine", "log_gap", "log_norm"},
               .only_data = true};
  for (std::size_t k = 0; k < a.layers.size(); ++k)
    layers.rows.push_back(
        {static_cast<double>(k), a.layers[k].cosine, a.layers[k].log_gap, a.layers[k].log_norm});
  answer.tables.push_back(std::move(layers));
}

// ---- Figures.

PageFigure cosine_figure(const Asked& a) {
  Series flow = report::curve(report::kBlue, 2.4);
  flow.title = a.layers.empty() ? "" : "flow";
  for (const Moment& p : a.way) add_point(flow, p.log_time / std::numbers::ln10, p.cosine);
  Series dots = report::curve(report::kVermillion, 2);
  dots.mark = report::Mark::points;
  if (a.layers.empty() && std::isfinite(a.log_time)) {
    dots.size = 5;
    add_point(dots, a.log_time / std::numbers::ln10, a.cosine());
  }
  if (!a.layers.empty()) dots.title = "layers";
  for (std::size_t k = 1; k < a.layers.size(); ++k)
    add_point(dots, std::log10(static_cast<double>(k) * a.step), a.layers[k].cosine);
  report::Panel panel{
      .x = {.label = "time t", .scale = Scale::power},
      .y = {.label = "cosine", .low = std::min(0.0, a.problem().cosine0), .high = 1.03},
      .series = {std::move(flow), std::move(dots)}};
  for (const double level : a.levels) panel.horizontal.push_back({.at = level, .dashed = true});
  return plot("cosine", "The way to consensus", std::move(panel),
              a.layers.empty()
                  ? "The common cosine of all pairs against time, on a logarithmic axis. Dot: the "
                    "moment asked for; grey: the levels of the table."
                  : "The common cosine of all pairs: discrete layers (dots) and their limit, the "
                    "flow, at equal depth. Grey: the levels of the table.");
}

/// Straight where the late law is exponential and times are ordinary: a linear time axis.
bool exponential(const Asked& a) {
  const Scheme& row = scheme(a.problem().norm);
  return !row.grows && row.pace != Pace::damped && !a.way.empty() && a.way.back().log_time < 600 &&
         a.way.back().log_time > -600;
}

PageFigure gap_figure(const Asked& a) {
  const bool linear = exponential(a);
  const auto x = [&](double log_time) {
    return linear ? std::exp(log_time) : log_time / std::numbers::ln10;
  };
  Series flow = report::curve(report::kBlue, 2.4), tail = report::curve(report::kInk, 1.6);
  flow.title = "1 − cosine";
  tail.title = "late law of theory";
  tail.dashed = true;
  for (const Moment& p : a.way) {
    add_point(flow, x(p.log_time), p.log_gap / std::numbers::ln10);
    const double late = a.flow.log_tail(p.log_time);
    add_point(tail, x(p.log_time), late < std::numbers::ln10 ? late / std::numbers::ln10 : kNan);
  }
  return plot("gap", "How close to consensus",
              {.label = "time t", .scale = linear ? Scale::linear : Scale::power},
              {.label = "1 − cosine", .scale = Scale::power}, {std::move(tail), std::move(flow)},
              linear ? "The gap 1 − cosine on a logarithmic axis: a straight line is exponential "
                       "decay. Dashed: the law that theory predicts for late times."
                     : "The gap 1 − cosine on logarithmic axes: a straight line is a power of "
                       "time. Dashed: the law that theory predicts for late times.");
}

}  // namespace

meanfield::Equiangular problem_of(const EquiangularSetup& p) {
  return {.tokens = p.tokens,
          .beta = p.beta,
          .cosine0 = p.cosine0,
          .rule = p.dynamics,
          .norm = p.norm,
          .alpha = p.alpha,
          .switch_time = p.switch_time,
          .deepnorm_scale = p.deepnorm_scale};
}

ParameterList list(EquiangularSetup& p) {
  ParameterList l;
  l.group("Tokens and attention");
  l.add("dynamics", p.dynamics, "sa: softmax attention; usa: unnormalised")
      .among({Rule::softmax, Rule::unnormalised});
  l.add("tokens", p.tokens, "number of tokens n").within(2, 1e30).counts();
  l.add("beta", p.beta, "inverse temperature").within(-20, 1e6);
  l.add("cosine0", p.cosine0, "common cosine at the start, at least -1/(n-1) and below 1")
      .within(-1, 1);
  l.group("Question");
  l.add("time", p.time, "the moment asked for").within(0, 1e308);
  l.add("log10-time", p.log10_time, "instead of time: its decimal logarithm")
      .within(-300, 1e299)
      .otherwise("")
      .allow("a number from -300 to 1e299");
  l.add("levels", p.levels, "cosines whose times are asked for")
      .within(-1, meanfield::kLargestLevel)
      .allow("comma-separated numbers from -1 to below 1");
  l.add("layers", p.layers, "instead of a time: so many discrete layers, 0: the flow")
      .within(0, 1e6);
  l.add("step", p.step, "layers: depth of one layer")
      .within(1e-9, 1e6)
      .used_if(p.layers > 0, "layers");
  l.group("Normalisation");
  l.add("norm", p.norm, "where layers normalise");
  l.add("alpha", p.alpha, "ngpt: rate towards attention").above(0, 1e6);
  l.add("switch-time", p.switch_time, "mix: depth where post becomes pre").within(0, 1e15);
  l.add("deepnorm-scale", p.deepnorm_scale, "deepnorm: factor of the residual stream")
      .within(1e-6, 1e6);
  for (Parameter& own : l)
    if (std::vector<std::string> norms = schemes_with(own.name); !norms.empty())
      own.used_by("norm", std::move(norms));
  l.short_help(
      {"dynamics", "tokens", "beta", "cosine0", "time", "log10-time", "levels", "layers", "norm"});
  return l;
}

Result ask(const EquiangularSetup& p, const Context& /*context*/) {
  check(p);
  auto asked = std::make_shared<Asked>(Asked{.flow = EquiangularFlow(problem_of(p)),
                                             .log_time = asked_log_time(p),
                                             .levels = p.levels.values,
                                             .step = p.step});
  if (p.layers > 0) asked->layers = meanfield::layers(problem_of(p), p.step, p.layers);
  const double log_gap = asked->layers.empty() ? asked->flow.at(asked->log_time).log_gap
                                               : asked->layers.back().log_gap;
  // The picture reaches to where the question does, within what a picture can show.
  asked->way = way_of(asked->flow, std::clamp(log_gap, -700.0, std::log(1e-4)));
  Result answer{.title = "equiangular tokens", .headline = headline(*asked)};
  add_values(*asked, answer);
  answer.tiles = equiangular_tiles(*asked);
  add_tables(*asked, answer);
  remark_suddenness(*asked, answer);
  if (asked->flow.half_collapse().status == Arrival::Status::never)
    answer.remarks.push_back(asked->flow.at(-kInfinity).speed() > 0
                                 ? "The tokens stop turning before half of the gap is closed."
                                 : "The tokens form a regular simplex: nothing ever turns.");
  if (!asked->way.empty())
    answer.draw = [asked] {
      return std::vector<PageFigure>{cosine_figure(*asked), gap_figure(*asked)};
    };
  return answer;
}

Command equiangular_command() {
  return {
      .name = "reduce equiangular",
      .about = "n tokens with one common cosine, any n up to 1e30 and any normalisation",
      .examples =
          "  attractor reduce equiangular --tokens 64 --beta 4 --time 3\n"
          "  attractor reduce equiangular --norm pre --tokens 1e12 --beta 8 --time 100 --out pre\n"
          "  attractor reduce equiangular --dynamics usa --tokens 32 --beta 2 --levels 0.5,0.999\n"
          "Theory: docs/theory/reductions.md.",
      .make = ask_request<EquiangularSetup>};
}

}  // namespace attractor::lab
