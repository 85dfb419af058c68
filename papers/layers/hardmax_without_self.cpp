// Hardmax attention without the own token: on the sphere every token runs after its nearest one,
// x_i' = P_i x_j(i). Two tokens meet like tan(delta/2) ~ e^{-2t}. On the circle tokens that select
// each other keep doing so and the others follow them, so that there are as many clusters as pairs
// of mutual neighbours at the start: gaps smaller than both beside them, a third of n on average.
// Softmax without the own token tends to it like e^{-beta (lead of the nearest)} / beta for tokens
// that select each other; a follower cannot tell the two as they merge, and is off by a power.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "papers/entry.hpp"
#include "papers/flow_run.hpp"
#include "papers/pictures.hpp"
#include "papers/points.hpp"
#include "papers/sample.hpp"

namespace attractor::papers::hardmax_without_self {
namespace {

using std::numbers::pi;
using Angles = std::vector<double>;

constexpr double kThree[] = {0, 0.7, 1.7};

FlowSetup without_self(const FlowSetup& start, Rule rule, double beta, double time) {
  FlowSetup p = start;
  p.dynamics = rule;
  p.self = SelfAttention::exclude;
  p.beta = beta;
  p.time = time;
  p.tolerance = 1e-12;
  p.outputs = 1;
  p.snapshots = 2;
  return p;
}

Angles angles_of(const std::vector<double>& points) {
  Angles angles;
  for (std::size_t k = 0; k < points.size(); k += 2)
    angles.push_back(std::atan2(points[k + 1], points[k]));
  return angles;
}

Angles three(Rule rule, double beta, const Effort& effort) {
  const FlowSetup p = without_self(at_angles(kThree), rule, beta, 1);
  return angles_of(flow_of(p, effort).snapshots.back().positions);
}

double apart(const Angles& a, const Angles& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

/// Gaps of tokens on the circle that are smaller than both beside them.
std::size_t mutual_pairs(Angles angles) {
  std::sort(angles.begin(), angles.end());
  const std::size_t n = angles.size();
  Angles gap;
  for (std::size_t i = 0; i < n; ++i)
    gap.push_back(i + 1 < n ? angles[i + 1] - angles[i] : angles[0] + 2 * pi - angles[i]);
  std::size_t pairs = 0;
  for (std::size_t i = 0; i < n; ++i)
    pairs += gap[i] < gap[(i + 1) % n] && gap[i] < gap[(i + n - 1) % n] ? 1 : 0;
  return pairs;
}

struct Gathering {
  std::size_t pairs, clusters;
};
Gathering gather(std::uint64_t seed, const Effort& effort) {
  FlowSetup p;
  p.tokens = 48;
  p.dim = 2;
  p.seed = seed;
  p = without_self(p, Rule::hardmax, 1, 20);
  // Where tokens of a cluster tie the rule jumps, which no adaptive step passes.
  p.stepper = flow::Method::rk4;
  p.step = 0.05;
  const FlowRecord record = flow_of(p, effort);
  const std::vector<double>& end = record.snapshots.back().positions;
  return {mutual_pairs(angles_of(record.snapshots.front().positions)), distinct(end, 2, 2e-3)};
}

/// Two tokens from an angle of 2: tan(delta/2) = tan(1) e^{-2t}.
Check pair_check(const Effort& effort) {
  const double angles[] = {0, 2};
  const FlowRecord record = flow_of(without_self(at_angles(angles), Rule::hardmax, 1, 1.5), effort);
  return near("two tokens from an angle of 2, t = 1.5", std::acos(record.series.back().mean_cosine),
              2 * std::atan(std::tan(1.0) * std::exp(-3)), 1e-9);
}

Table three_tokens(const Effort& effort, std::vector<Check>& checks) {
  Table table{
      .name = "three",
      .title = "Tokens at 0, 0.7 and 1.7 without themselves, t = 1",
      .columns = {"beta", "first", "second", "third", "pair_from_hardmax", "third_from_hardmax"}};
  // Both ODEs: mpmath's odefun with 30 digits.
  const Angles hard = three(Rule::hardmax, 1, effort),
               hard_truth = {0.30063889412674206, 0.39936110587325794, 0.98130611381533691},
               soft_truth = {0.45990358920032839, 0.66076107440555373, 1.0331255482296295};
  for (const double beta : {4.0, 20.0, 40.0, 60.0}) {
    const Angles soft = three(Rule::softmax, beta, effort);
    const Angles pair = {soft[0], soft[1]};
    table.rows.push_back(
        {beta, soft[0], soft[1], soft[2], apart(pair, hard), std::abs(soft[2] - hard[2])});
    if (beta == 4)
      checks.push_back(at_most("softmax at beta = 4 from its ODE", apart(soft, soft_truth), 1e-9));
  }
  checks.push_back(at_most("hardmax from its ODE", apart(hard, hard_truth), 1e-9));
  // The third token comes closer: the second one is in most doubt at the end, by e^{-beta lead} /
  // beta. What is of order c/beta in that, c up to 10, changes the slope by c (1/40 - 1/60) / 20.
  const double lead = std::cos(hard[1] - hard[0]) - std::cos(hard[2] - hard[1]);
  checks.push_back(near("softmax against hardmax, the pair: slope of ln distance, beta 40 to 60",
                        std::log(table.rows[3][4] / table.rows[2][4]) / 20,
                        -lead - std::log(1.5) / 20, 10 * (1.0 / 40 - 1.0 / 60) / 20));
  return table;
}

PageFigure figure(const Table& starts) {
  report::Panel panel{.x = {.label = "mutual neighbours at the start", .low = 8, .high = 24},
                      .y = {.label = "clusters at t = 20", .low = 8, .high = 24}};
  report::Series seen = dots("48 tokens on the circle", report::kBlue, 5);
  for (const auto& row : starts.rows) add_point(seen, row[1], row[2]);
  panel.series = {line("equal", report::kInk, {8, 24}, {8, 24}, true), std::move(seen)};
  return picture("pairs", "Every pair of mutual neighbours is a cluster", {std::move(panel)},
                 "One point for each random start.");
}

Finding run(const Effort& effort) {
  Finding finding;
  finding.checks.push_back(pair_check(effort));
  Table table = three_tokens(effort, finding.checks);
  Table starts{.name = "starts",
               .title = "48 random tokens on the circle, hardmax without themselves",
               .columns = {"seed", "mutual_pairs", "clusters"}};
  double wrong = 0;
  std::vector<double> pairs;
  for (std::uint64_t seed = 1; seed <= (effort.quick ? 20 : 400); ++seed) {
    if (effort.context.stopped()) return finding;
    const Gathering g = gather(seed, effort);
    starts.rows.push_back(
        {static_cast<double>(seed), static_cast<double>(g.pairs), static_cast<double>(g.clusters)});
    pairs.push_back(static_cast<double>(g.clusters));
    wrong += g.pairs != g.clusters ? 1 : 0;
  }
  finding.checks.push_back(
      near("starts whose clusters are not the mutual neighbours of the start", wrong, 0, 0));
  const Sampled count = sampled(pairs);
  finding.checks.push_back(near("clusters of 48 tokens on average, against a third, 4 errors",
                                count.mean, 16, 4 * count.error));
  finding.answer.headline = fmt::format(
      "Without themselves hardmax tokens run after their nearest ones: all {} starts end in as "
      "many clusters as there were mutual neighbours, {:.2f} ± {:.2f} of 48 tokens (16 expected).",
      pairs.size(), count.mean, count.error);
  finding.answer.draw = [starts] { return std::vector{figure(starts)}; };
  finding.answer.tables = {std::move(table), std::move(starts)};
  return finding;
}

}  // namespace

Entry entry() {
  return {.id = "hardmax-without-self",
          .title = "Hardmax attention without the own token",
          .source = "arXiv 2512.01868, section 5.2",
          .shows =
              "In the limit of large beta a token that does not attend to itself moves towards its "
              "nearest one alone.",
          .run = run};
}

}  // namespace attractor::papers::hardmax_without_self
