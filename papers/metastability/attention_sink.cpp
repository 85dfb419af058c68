// A heavy first token under a causal mask, a sink of attention: it counts as M tokens. The second
// token sees it and itself,
//
//   delta' = -sin delta / (1 + e^{beta (1 - cos delta)} / M):   t = int (1 + e^{..}/M) / sin,
//
// so the wait e^{beta (1 - cos delta)} / M of a token far away goes when M is e^beta. Near
// consensus token i (of n) returns at the rate (M + i - 2) / (M + i - 1) of its own, the slowest
// being the second one's M / (M + 1). All end where the first token was, with a sink or without.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "papers/entry.hpp"
#include "papers/flow_run.hpp"
#include "papers/pictures.hpp"
#include "papers/points.hpp"
#include "papers/sample.hpp"
#include "papers/token_walk.hpp"

namespace attractor::papers::attention_sink {
namespace {

using std::numbers::pi;
using Tokens = std::vector<double>;

constexpr double kRight = pi / 2, kEnd = 0.1;  // angles of the second token

Walk causal(const std::vector<double>& angles, double beta, double mass) {
  Walk walk;
  walk.architecture.layer.beta = beta;
  walk.architecture.layer.dim = 2;
  walk.architecture.layer.mask.causal = true;
  walk.architecture.layer.sink_mass = mass;
  for (const double a : angles) walk.tokens.insert(walk.tokens.end(), {std::cos(a), std::sin(a)});
  walk.tolerance = 1e-12;
  return walk;
}

double angle_of(const Tokens& tokens, std::size_t i) {
  return std::atan2(tokens[2 * i + 1], tokens[2 * i]);
}

/// When two tokens come from kRight to kEnd: Simpson's rule in y = ln tan(delta/2).
double meeting_time(double beta, double mass) {
  constexpr int kPieces = 4000;
  const double from = std::log(std::tan(kEnd / 2)), to = std::log(std::tan(kRight / 2));
  double sum = 0;
  for (int k = 0; k <= kPieces; ++k) {
    const double delta = 2 * std::atan(std::exp(from + (to - from) * k / kPieces));
    const double weight = k == 0 || k == kPieces ? 1 : k % 2 == 1 ? 4 : 2;
    sum += weight * (1 + std::exp(beta * (1 - std::cos(delta))) / mass);
  }
  return sum * (to - from) / (3 * kPieces);
}

/// At the time when the quadrature says kEnd.
Table two_bodies(const Effort& effort, std::vector<Check>& checks) {
  Table table{
      .name = "pair",
      .title = "Second token from 90° to 0.1 rad: time by quadrature, angle of the flow then",
      .columns = {"beta", "mass", "time", "angle"}};
  for (const double beta : {2.0, 6.0})
    for (const double mass : {0.1, 1.0, 10.0, std::exp(beta), 1e6}) {
      Walk walk = causal({0, kRight}, beta, mass);
      walk.times = {meeting_time(beta, mass)};
      const double angle = angle_of(states_of(walk, effort).back(), 1);
      table.rows.push_back({beta, mass, walk.times[0], angle});
      checks.push_back(
          near(fmt::format("beta = {}, mass {:.4g}: angle when 0.1 is due", beta, mass), angle,
               kEnd, 1e-9));
    }
  return table;
}

/// Tokens at 0, 1 and 2.5, beta = 3, t = 2; mpmath's odefun with 30 digits.
void three_bodies(const Effort& effort, std::vector<Check>& checks) {
  struct Case {
    double mass, second, third;
  };
  for (const Case& c : {Case{5, 0.24809202540707992, 2.4272097309641964},
                        Case{1, 0.60110745754229254, 2.4151912544233872}}) {
    Walk walk = causal({0, 1, 2.5}, 3, c.mass);
    walk.times = {2};
    const Tokens end = states_of(walk, effort).back();
    checks.push_back(near(fmt::format("three tokens, mass {}: second", c.mass), angle_of(end, 1),
                          c.second, 1e-9));
    checks.push_back(
        near(fmt::format("three tokens, mass {}: third", c.mass), angle_of(end, 2), c.third, 1e-9));
  }
}

/// Values turned by 90 degrees move the first token, unless it is fixed; delta of the second one
/// falls like -w (1 - cos delta), or follows 1 - w (1 - cos delta): mpmath's odefun, 30 digits.
void turning_values(const Effort& effort, std::vector<Check>& checks) {
  for (const bool fixed : {false, true}) {
    Walk walk = causal({0, 0.8}, 1, 2);
    walk.architecture.layer.heads[0].value = {0, -1, 1, 0};
    walk.architecture.first_fixed = fixed;
    walk.times = {1.5};
    const Tokens end = states_of(walk, effort).back();
    checks.push_back(near(fmt::format("turning values, first token {}", fixed ? "fixed" : "free"),
                          angle_of(end, 0), fixed ? 0 : 1.5, 1e-9));
    checks.push_back(near(
        fmt::format("turning values, first token {}: the second from it", fixed ? "fixed" : "free"),
        angle_of(end, 1) - angle_of(end, 0), fixed ? 1.7732635807162870524 : 0.59072746911111181984,
        1e-9));
  }
}

/// Late, the distance of all tokens falls at the rate of the second one.
void late_rates(const Effort& effort, std::vector<Check>& checks) {
  for (const double mass : {1.0, 4.0}) {
    Walk walk = causal({0, 0.5, -0.8, 1.1, -0.3, 0.9}, 1, mass);
    for (int k = 0; k <= 10; ++k) walk.times.push_back((8 + 0.4 * k) * (mass + 1) / mass);
    std::vector<double> time, log_angle;
    for (const Tokens& now : states_of(walk, effort)) {
      time.push_back(walk.times[time.size()]);
      log_angle.push_back(std::log(std::abs(angle_of(now, 1))));
    }
    checks.push_back(near(fmt::format("mass {}: late rate of the second token", mass),
                          slope(time, log_angle), -mass / (mass + 1), 1e-6));
  }
}

/// Random tokens on the sphere, with sinks of several masses.
struct Crowd {
  double mass;
  std::vector<double> time, cosine;
  double moved;  // of the first token
};
Crowd crowd(double mass, const Effort& effort) {
  FlowSetup p;
  p.mask = MaskKind::causal;
  p.sink_mass = mass;
  p.tokens = 64;
  p.dim = 8;
  p.beta = 6;
  p.time = 30;
  p.outputs = 60;
  p.output_spacing = lab::Spacing::linear;
  p.snapshots = 2;
  p.tolerance = 1e-7;
  p.seed = 3;
  const FlowRecord record = flow_of(p, effort);
  const auto first = [&](const auto& snapshot) { return row(snapshot.positions, p.dim, 0); };
  return {mass, column(record, &observe::Observation::time),
          column(record, &observe::Observation::mean_cosine),
          largest_distance(first(record.snapshots.front()), first(record.snapshots.back()), p.dim)};
}

PageFigure figure(const std::vector<Crowd>& crowds) {
  report::Panel left{.title = "64 tokens, d = 8, β = 6",
                     .x = {.label = "t", .low = 0, .high = 30},
                     .y = {.label = "mean cosine", .low = 0, .high = 1.02}},
      right{.title = "second token, from 90° to 0.1 rad",
            .x = {.label = "mass of the first token",
                  .scale = report::Scale::log,
                  .low = 0.1,
                  .high = 1e5},
            .y = {.label = "time", .scale = report::Scale::log, .low = 2, .high = 1e4}};
  for (std::size_t k = 0; k < crowds.size(); ++k)
    left.series.push_back(line(fmt::format("mass {:.4g}", crowds[k].mass), report::kPalette[k],
                               crowds[k].time, crowds[k].cosine));
  for (const double beta : {2.0, 6.0}) {
    report::Series s = line(fmt::format("β = {}", beta), report::kPalette[right.series.size()]);
    for (double mass = 0.1; mass <= 1e5; mass *= 1.3) add_point(s, mass, meeting_time(beta, mass));
    right.series.push_back(std::move(s));
  }
  return two_columns("sink", {std::move(left), std::move(right)},
                     "Left: a heavy first token gathers all others sooner. Right: the wait of the "
                     "second token is over where the mass is e^{β}.");
}

Finding run(const Effort& effort) {
  Finding finding;
  Table pair = two_bodies(effort, finding.checks);
  three_bodies(effort, finding.checks);
  turning_values(effort, finding.checks);
  late_rates(effort, finding.checks);
  Table table{.name = "crowd",
              .title = "64 random tokens, d = 8, β = 6: mean cosine",
              .columns = {"mass", "t_10", "t_30", "first_moved"}};
  std::vector<Crowd> crowds;
  for (const double mass : {1.0, 20.0, std::exp(6.0)}) {
    if (effort.context.stopped()) return finding;
    crowds.push_back(crowd(mass, effort));
    const Crowd& c = crowds.back();
    table.rows.push_back({mass, c.cosine[20], c.cosine.back(), c.moved});
  }
  if (effort.context.stopped()) return finding;
  finding.checks.push_back(
      at_least("64 tokens, t = 10: cosine with mass 20 less that without a sink",
               table.rows[1][1] - table.rows[0][1], 0));
  finding.checks.push_back(at_least("64 tokens, t = 10: cosine with mass e^beta less that with 20",
                                    table.rows[2][1] - table.rows[1][1], 0));
  finding.checks.push_back(at_most("the first token has moved, at most",
                                   std::max(table.rows[0][3], table.rows[2][3]), 1e-12));
  finding.answer.headline = fmt::format(
      "A sink of mass e^{{β}} ends the wait: at β = 6 the second token takes {:.4g} instead of "
      "{:.5g}; of 64 tokens the mean cosine at t = 10 is {:.3f} instead of {:.3f}.",
      pair.rows[8][2], pair.rows[6][2], table.rows[2][1], table.rows[0][1]);
  finding.answer.draw = [crowds] { return std::vector{figure(crowds)}; };
  finding.answer.tables = {std::move(pair), std::move(table)};
  return finding;
}

}  // namespace

Entry entry() {
  return {.id = "attention-sink",
          .title = "A heavy first token ends the wait",
          .source = "arXiv 2411.04990 (causal flow); attention sinks: 2309.17453",
          .shows =
              "Trained causal models put much attention on the first token. In the causal flow "
              "with V = I tokens end at the first one anyway; what a heavy one changes is when.",
          .run = run};
}

}  // namespace attractor::papers::attention_sink
