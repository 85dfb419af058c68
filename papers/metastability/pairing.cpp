// At large beta only the closest pair of clusters moves, each towards the other, y_i' = P y_j: on
// the circle delta' = -2 sin delta, if the clock runs with the cosine of the pair:
//
//   dt = e^{beta (1 - cos delta)} ds.
//
// A pair of equal masses then takes from delta_0 to delta
//
//   s = int (1 + e^{-beta (1 - cos)}) / (2 sin) d delta,
//
// as beta grows ln(tan(delta_0/2) / tan(delta/2)) / 2.
//
// With the clock of the start, dt = e^{beta (1 - cos delta_0)} ds, it takes 1/(2 beta) -> 0 from 90
// degrees; masses m_1, m_2 multiply the speed by (m_1/m_2 + m_2/m_1) / 2; a third token at angle
// delta' from the pair moves by e^{-beta (cos delta_0 - cos delta')} / beta meanwhile.
#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "attractor/depth/attention_flow.hpp"
#include "attractor/flow/run.hpp"
#include "attractor/space/space.hpp"
#include "papers/entry.hpp"
#include "papers/pictures.hpp"
#include "papers/points.hpp"

namespace attractor::papers::pairing {
namespace {

constexpr double kRight = std::numbers::pi / 2, kEnd = 0.5;  // angles of a pair
constexpr double kClose = 1.2, kApart = 1.6;                 // gaps of three tokens
constexpr double kRadius = 1e-6;                             // equal tokens are one
constexpr double kTolerance = 1e-12;  // of steps; that of states between them is its power 4/5
/// Relative error of a time; the running clock multiplies errors of the angle by beta: 200 times
/// 2.5e-10 at the most.
constexpr double kClockError = 1e-8;

/// 1 - cosine of the first two tokens.
double gap(std::span<const double> tokens) {
  return squared_distance(row(tokens, 2, 0), row(tokens, 2, 1)) / 2;
}

/// A pair on its way to the angle kEnd, step by step.
struct Way {
  double beta;
  std::vector<double> angle{}, running{}, frozen{};  // of the pair; both clocks
  double third = 0;                                  // how far another token came
};

/// Where in a step the pair is kEnd apart; 1: not yet.
double share_to_end(const flow::Step& step, std::span<double> tokens) {
  const double level = 1 - std::cos(kEnd);
  double low = 0, high = 1;
  if (gap(step.after) > level) return 1;
  while (high - low > 1e-15) {
    const double middle = (low + high) / 2;
    step.stepper.interpolate(middle, tokens);
    (gap(tokens) > level ? low : high) = middle;
  }
  return high;
}

/// The running clock over a share of a step, by Simpson's rule. In a step of displacement
/// dt = length / |v| d theta, and the speed grows as the clock slows down: what is integrated is
/// smooth in theta, and errors of the angle cancel.
double running_time(const flow::Step& step, double share, const flow::Flow& flow, double beta,
                    std::span<double> tokens) {
  constexpr int kPieces = 8;
  std::vector<double> way(tokens.size());
  double sum = 0, slowness = step.log_unit;
  for (int k = 0; k <= kPieces; ++k) {
    step.state_at(share * k / kPieces, tokens);
    if (step.way) slowness = flow::direction(flow, tokens, slowness, way);
    const double weight = k == 0 || k == kPieces ? 1 : k % 2 == 1 ? 4 : 2;
    sum += weight * std::exp(slowness - beta * gap(tokens));
  }
  return sum * share * (step.way ? step.way->length : step.h) / (3 * kPieces);
}

Way follow(const std::vector<double>& angles, double beta, const Effort& effort) {
  flow::Progress progress;
  for (const double a : angles)
    progress.state.insert(progress.state.end(), {std::cos(a), std::sin(a)});
  const std::vector<double> start = progress.state;
  depth::AttentionFlow tokens({.beta = beta, .dim = 2}, angles.size(), kRadius);
  Way way{.beta = beta, .angle = {angles[1] - angles[0]}, .running = {0}, .frozen = {0}};
  bool there = false;
  flow::Hooks hooks;
  hooks.stop = [&] { return there || effort.context.stopped(); };
  hooks.step = [&](const flow::Step& step) {
    std::vector<double> now(step.before.size());
    const double share = share_to_end(step, now);
    there = share < 1;
    way.running.push_back(way.running.back() + running_time(step, share, tokens, beta, now));
    way.frozen.push_back(std::exp(step.at(share).log() - beta * gap(start)));
    way.angle.push_back(2 * std::asin(std::sqrt(gap(now) / 2)));
    if (angles.size() == 3)
      way.third = std::sqrt(squared_distance(row(now, 2, 2), row(start, 2, 2)));
  };
  flow::run(tokens, flow::dormand_prince(), {.tolerance = kTolerance}, progress, hooks);
  return way;
}

double limit_time(double from) { return std::log(std::tan(from / 2) / std::tan(kEnd / 2)) / 2; }

/// The same at finite beta, by the midpoint rule.
double exact_time(double from, double beta) {
  constexpr int kPieces = 20'000;
  const double h = (from - kEnd) / kPieces;
  double sum = 0;
  for (int k = 0; k < kPieces; ++k) {
    const double at = kEnd + h * (k + 0.5);
    sum += std::exp(-beta * (1 - std::cos(at))) / (2 * std::sin(at)) * h;
  }
  return limit_time(from) + sum;
}

void compare_pair(const Way& w, Table& table, std::vector<Check>& checks) {
  const double exact = exact_time(kRight, w.beta), frozen = w.frozen.back();
  table.rows.push_back(
      {w.beta, w.running.back(), exact, limit_time(kRight), frozen, 2 * w.beta * frozen});
  checks.push_back(near_relative(fmt::format("beta = {}: time on the running clock", w.beta),
                                 w.running.back(), exact, kClockError));
  // The law of the lifetime is good to 2/beta^2 at 90 degrees.
  checks.push_back(near(fmt::format("beta = {}: time on the frozen clock times 2 beta", w.beta),
                        2 * w.beta * frozen, 1, 3 / (w.beta * w.beta)));
}

/// Three tokens in a row: the closer two move as if they were alone, the third one hardly.
Table compare_three(const Effort& effort, std::vector<Check>& checks) {
  Table table{.name = "three",
              .title = "Three tokens, gaps 1.2 and 1.6: the closer pair, and the third token",
              .columns = {"beta", "running", "pair_alone", "way_of_third"}};
  const double lead = std::cos(kClose) - std::cos(kApart);
  for (const double beta : {25.0, 50.0}) {
    const Way w = follow({0, kClose, kClose + kApart}, beta, effort);
    const double alone = exact_time(kClose, beta);
    table.rows.push_back({beta, w.running.back(), alone, w.third});
    // The third token pulls one of them back by that share of its speed at most.
    checks.push_back(near_relative(
        fmt::format("three tokens, beta = {}: time of the closer pair", beta), w.running.back(),
        alone, std::sin(kApart) / std::sin(kClose) * std::exp(-beta * lead) + kClockError));
  }
  // e^{-beta lead} / beta, and what is of order 1/beta in it changes by c (1/25 - 1/50) / 25.
  checks.push_back(near("three tokens: ln of the third one's way, slope in beta from 25 to 50",
                        std::log(table.rows[1][3] / table.rows[0][3]) / 25,
                        -lead - std::numbers::ln2 / 25, 2e-3));
  return table;
}

PageFigure figure(const std::vector<Way>& ways) {
  report::Panel running{.title = "clock that runs with the cosine",
                        .x = {.label = "rescaled time s", .low = 0, .high = 0.72},
                        .y = {.label = "angle of the pair", .low = 0, .high = 1.65}},
      frozen = running;
  frozen.title = "clock of the start";
  frozen.x.high = 0.022;
  report::Series limit = line("limit, δ' = −2 sin δ", report::kInk, 4);
  for (double at = kRight; at >= kEnd; at -= 0.01)
    add_point(limit, limit_time(kRight) - limit_time(at), at);
  running.series = {limit};
  for (std::size_t k = 0; k < ways.size(); ++k) {
    const std::string title = fmt::format("β = {}", ways[k].beta);
    running.series.push_back(line(title, report::kPalette[k], ways[k].running, ways[k].angle));
    frozen.series.push_back(line(title, report::kPalette[k], ways[k].frozen, ways[k].angle));
  }
  return two_columns("pairing", {std::move(running), std::move(frozen)},
                     "Two tokens from 90° to 0.5 rad. Left: on the running clock they follow the "
                     "limit. Right: on the clock of their start the way takes ever less time.");
}

Finding run(const Effort& effort) {
  Finding finding;
  Table table{.name = "pair",
              .title = "Two tokens from 90° to 0.5 rad, in rescaled time",
              .columns = {"beta", "running", "exact", "limit", "frozen", "frozen_2_beta"}};
  std::vector<Way> ways;
  for (const double beta : {25.0, 100.0, 200.0}) {
    ways.push_back(follow({0, kRight}, beta, effort));
    if (effort.context.stopped()) return finding;
    compare_pair(ways.back(), table, finding.checks);
  }
  const double running = ways.back().running.back(), limit = limit_time(kRight);
  const double unequal = follow({0, kRight, kRight, kRight}, 200, effort).running.back();
  finding.checks.push_back(near_relative("beta = 200: time on the running clock against the limit",
                                         running, limit, kClockError));
  finding.checks.push_back(near_relative("masses 1/4 and 3/4: the same against 3/5 of the limit",
                                         unequal, 0.6 * limit, kClockError));
  finding.answer.tables = {table, compare_three(effort, finding.checks)};
  if (effort.context.stopped()) return finding;
  finding.answer.headline = fmt::format(
      "On the running clock a pair takes {:.4f}, {:.4f} and {:.4f} from 90° to 0.5 rad at β = 25, "
      "100 and 200 (limit {:.4f}), with masses 1/4 and 3/4 {:.4f}; on the clock of the start "
      "{:.4f}, {:.4f} and {:.4f}, which tends to 0.",
      table.rows[0][1], table.rows[1][1], table.rows[2][1], limit, unequal, table.rows[0][4],
      table.rows[1][4], table.rows[2][4]);
  finding.answer.remarks.push_back(
      "The limit needs the running cosine in the clock and equal masses; it meets at no finite "
      "rescaled time.");
  finding.answer.draw = [ways] { return std::vector{figure(ways)}; };
  return finding;
}

}  // namespace

Entry entry() {
  return {.id = "pairing",
          .title = "In the limit only the closest pair moves",
          .source = "arXiv 2512.01868, section 5.2; 2509.25040",
          .shows =
              "As beta grows only the closest pair of clusters moves, each along the projection of "
              "the other, y_i' = P(y_j), on a clock rescaled by e^{beta (1 - cosine)}.",
          .run = run};
}

}  // namespace attractor::papers::pairing
