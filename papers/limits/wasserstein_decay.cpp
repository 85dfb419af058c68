// A density with a mean direction, R_0 = |int x dmu|^2 > 0, becomes one point if beta is small:
// W_2(mu_t, delta) <= C e^{-t/100} in the end. What is slowest is not the crowd, which shrinks like
// e^{-t}, but what is left at the antipode: there tokens leave at the rate lambda with which a
// point mass pulls, 1 under softmax attention and e^{-beta} under the unnormalised one, so that on
// the circle a mass of the order of e^{-lambda t} is still on its way, and
//
//   W_2 ~ e^{-lambda t/2},   lambda = 1 (SA),   e^{-beta} (USA).
//
// On the circle an even density can also keep a second cluster at the antipode: beside the masses p
// at 0 and q at pi tokens near pi stay iff q e^beta > p e^{-beta}. So there is a largest beta for
// which one cluster is reached, and above it there are several.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "papers/entry.hpp"
#include "papers/flow_run.hpp"
#include "papers/limits/graded_circle.hpp"
#include "papers/pictures.hpp"
#include "papers/sample.hpp"

namespace attractor::papers::wasserstein_decay {
namespace {

using std::numbers::pi;

double one_wave(double theta) { return 1 + 0.5 * std::cos(theta); }

struct Decay {
  Rule rule;
  double beta, law, rate = 0;  // of ln W_2
  std::vector<double> time{}, distance{};
};

Decay decay_of(Rule rule, double beta, const Effort& effort) {
  Decay d{.rule = rule, .beta = beta, .law = rule == Rule::softmax ? 0.5 : std::exp(-beta) / 2};
  // Fifteen to twenty e-foldings of the antipode: angles within 1e-11 of it would still be there.
  for (int k = 0; k <= 40; ++k) d.time.push_back(k / 2.0 / (2 * d.law));
  const GradedCircle start = graded_circle(one_wave, effort.quick ? 150 : 800, 1e-13);
  std::vector<double> x, y;
  const auto states = circle_walk(rule, beta, start, d.time, effort);
  for (std::size_t k = 0; k < states.size(); ++k) {
    d.distance.push_back(spread_about_zero(states[k], start.weights));
    if (k >= 28) x.push_back(d.time[k]), y.push_back(std::log(d.distance[k]));
  }
  d.rate = -slope(x, y);
  return d;
}

/// The share of an even density that is nearer to 0 than to pi after a long time.
double share_at_zero(Rule rule, double beta, std::size_t count, double time, const Effort& effort) {
  const GradedCircle start = graded_circle(one_wave, count, 1e-3);
  const std::vector<double> end = circle_walk(rule, beta, start, {time}, effort, 1e-7).back();
  double share = 0;
  for (std::size_t k = 0; k < end.size(); ++k)
    if (std::cos(end[k]) > 0) share += start.weights[k];
  return share;
}

/// 128 tokens with equal weights through the attention kernel and through the sums over modes.
double kernel_difference(const Effort& effort) {
  GradedCircle even;
  for (int k = 0; k < 128; ++k) {
    const double u = 2 * pi * (k + 0.5) / 128 - pi;
    even.angles.push_back(u - 0.4 * std::sin(u));
    even.weights.push_back(1.0 / 128);
  }
  FlowSetup p = at_angles(even.angles);
  p.dynamics = Rule::unnormalised;
  p.beta = 1;
  p.time = 3;
  p.outputs = 1;
  p.snapshots = 2;
  p.merge_radius = 0;
  p.tolerance = 1e-12;
  p.engine = depth::Engine::dense;
  const std::vector<double> dense = angles_on_circle(flow_of(p, effort).snapshots.back().positions);
  const std::vector<double> modes = circle_walk(Rule::unnormalised, 1, even, {3}, effort).back();
  return std::abs(spread_about_zero(dense, even.weights) - spread_about_zero(modes, even.weights));
}

/// Above 1 a cluster at the antipode, of mass q = 1 - share, holds its own: q e^beta / p e^{-beta}.
double hold(double share, double beta) { return (1 - share) / share * std::exp(2 * beta); }

/// Up to which beta softmax attention makes one cluster of 1 + cos(theta)/2.
double largest_beta(const Effort& effort, std::vector<Check>& checks) {
  constexpr double kLong = 60, kAll = 1 - 1e-3;
  const std::size_t count = effort.quick ? 60 : 250;
  double low = 0.5, high = 20;  // one cluster at `low`, several at `high`
  const double least = share_at_zero(Rule::softmax, low, count, kLong, effort),
               most = share_at_zero(Rule::softmax, high, count, kLong, effort);
  for (int k = 0; k < 9 && !effort.context.stopped(); ++k) {
    const double middle = (low + high) / 2;
    (share_at_zero(Rule::softmax, middle, count, kLong, effort) > kAll ? low : high) = middle;
  }
  const double below = share_at_zero(Rule::softmax, low - 0.1, 2 * count, kLong, effort),
               above = share_at_zero(Rule::softmax, high + 0.1, 2 * count, kLong, effort),
               unnormalised = share_at_zero(Rule::unnormalised, 2, count, kLong / 4, effort);
  checks.push_back(at_least("softmax, beta = 0.5: share that ends at 0", least, kAll));
  checks.push_back(at_most("softmax, beta = 20: share that ends at 0", most, kAll));
  checks.push_back(at_least(
      "0.1 below the largest beta of one cluster, twice the angles: share at 0", below, kAll));
  checks.push_back(at_least("0.1 above it, twice the angles: what holds a cluster at the antipode",
                            hold(above, high + 0.1), 1));
  checks.push_back(at_least("unnormalised, beta = 2: what holds a cluster at the antipode",
                            hold(unnormalised, 2), 1));
  return (low + high) / 2;
}

PageFigure figure(const std::vector<Decay>& all) {
  report::Panel panel{.x = {.label = "e^{−β} t (unnormalised), t (softmax)", .low = 0, .high = 20},
                      .y = {.label = "W_{2}(μ_{t}, δ)", .scale = report::Scale::log}};
  for (std::size_t k = 0; k < all.size(); ++k) {
    std::vector<double> scaled;
    for (const double t : all[k].time) scaled.push_back(t * 2 * all[k].law);
    panel.series.push_back(line(fmt::format("{}, β = {}", name(all[k].rule), all[k].beta),
                                report::kPalette[k % report::kPalette.size()], scaled,
                                all[k].distance));
  }
  return picture("decay", "How fast a density becomes a point", {std::move(panel)},
                 "From 1 + ½ cos θ: what is left at the antipode sets the rate.");
}

Finding run(const Effort& effort) {
  Finding finding;
  Table table{.name = "rates",
              .title = "Rate of ln W_{2} from 1 + ½ cos θ, late",
              .columns = {"beta", "rate", "law", "over_1/100"},
              .label_column = "rule"};
  std::vector<Decay> all;
  double worst = 0;
  for (const auto& [rule, beta] : {std::pair{Rule::softmax, 0.0},
                                   {Rule::softmax, 0.5},
                                   {Rule::softmax, 1.0},
                                   {Rule::unnormalised, 0.25},
                                   {Rule::unnormalised, 0.5},
                                   {Rule::unnormalised, 1.0}}) {
    all.push_back(decay_of(rule, beta, effort));
    if (effort.context.stopped()) return finding;
    const Decay& d = all.back();
    worst = std::max(worst, std::abs(d.rate / d.law - 1));
    table.labels.emplace_back(name(rule));
    table.rows.push_back({beta, d.rate, d.law, 100 * d.rate});
  }
  // From 14 e-foldings on the crowd's own width and the next order are e^{-14/2} of W_2.
  finding.checks.push_back(
      at_most("rate of W_2 over lambda/2, less 1: largest", worst, 2 * std::exp(-7.0)));
  const double largest = largest_beta(effort, finding.checks);
  if (effort.context.stopped()) return finding;
  finding.checks.push_back(at_most("128 tokens by the attention kernel and by modes: W_2 at t = 3",
                                   kernel_difference(effort), 1e-9));
  finding.answer.values["largest_beta_of_one_cluster"] = number(largest);
  finding.answer.headline = fmt::format(
      "From 1 + ½ cos θ W_{{2}} falls like e^{{−t/2}} under softmax attention and like "
      "e^{{−e^{{−β}} t/2}} under the unnormalised one, both faster than e^{{−t/100}}; under "
      "softmax "
      "attention one cluster is reached up to β = {:.2f}.",
      largest);
  finding.answer.remarks = {
      "The theorem is for small beta; the rates lambda/2 and the largest beta are our own, for "
      "even densities on the circle, whose symmetry holds a second cluster at the antipode."};
  finding.answer.tables.push_back(table);
  finding.answer.draw = [all] { return std::vector{figure(all)}; };
  return finding;
}

}  // namespace

Entry entry() {
  return {.id = "wasserstein-decay",
          .title = "A density with a mean direction becomes a point",
          .source = "arXiv 2512.01868, section 4.3; 2504.14697",
          .shows =
              "From a density with R_0 > 0 and small |beta| attention converges to a point mass, "
              "W_2 at least like e^{-t/100} in the end.",
          .run = run};
}

}  // namespace attractor::papers::wasserstein_decay
