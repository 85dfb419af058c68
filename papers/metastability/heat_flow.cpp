// Attention as a heat equation. At large beta softmax attention moves tokens along the gradient of
// the log of their density smoothed over 1/sqrt(beta), x' = +-(1/beta) grad log rho: V = -I spreads
// them like heat, rho_t = rho'' / beta; V = I runs it backwards, and clusters form. On the circle a
// small wave of number k decays or grows at rate k^2 I_k(beta) / (beta I_0(beta)), heat's k^2/beta
// as beta grows. A Gaussian of variance s^2 stays one: ln s^2 + beta s^2 falls at rate 2.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "papers/entry.hpp"
#include "papers/flow_run.hpp"
#include "papers/metastability/circle_waves.hpp"
#include "papers/pictures.hpp"
#include "papers/sample.hpp"

namespace attractor::papers::heat_flow {
namespace {

constexpr double kBeta = 50;

double wave_rate(int k) {
  return k * k * std::cyl_bessel_i(k, kBeta) / (kBeta * std::cyl_bessel_i(0, kBeta));
}

FlowSetup on_circle(bool heat, std::uint64_t mode, double amplitude) {
  FlowSetup p;
  p.beta = kBeta;
  p.dim = 2;
  if (heat) p.value = WeightKind::minus_qk;  // Q = K = I
  p.init = Arrangement::circle;
  p.mode = mode;
  p.amplitude = amplitude;
  p.merge_radius = 0;
  p.engine = depth::Engine::dense;
  p.output_spacing = lab::Spacing::linear;
  return p;
}

Table compare_waves(const Effort& effort, std::vector<Check>& checks) {
  Table table{
      .name = "waves",
      .title = "Rates of small waves at β = 50: theory, V = −I, V = I, V = −I by layers of 0.001",
      .columns = {"k", "heat", "theory", "spreading", "gathering", "spreading_published"}};
  double worst = 0;
  for (int k = 1; k <= 8; ++k) {
    double rates[3];
    for (int kind = 0; kind < 3; ++kind) {
      FlowSetup p = on_circle(kind != 1, static_cast<std::uint64_t>(k), 1e-6);
      p.tokens = 128;
      p.time = 1;
      p.tolerance = 1e-13;
      p.outputs = 1;
      p.snapshots = 2;
      if (kind == 2) p.stepper = flow::Method::layers, p.step = 1e-3;
      rates[kind] = wave_growth(flow_of(p, effort), p.mode);
    }
    if (effort.context.stopped()) return table;
    const double theory = wave_rate(k);
    worst = std::max({worst, std::abs(rates[0] / theory + 1), std::abs(rates[1] / theory - 1)});
    table.rows.push_back(
        {static_cast<double>(k), k * k / kBeta, theory, rates[0], rates[1], rates[2]});
  }
  checks.push_back(
      at_most("waves 1 to 8 against k^2 I_k/(beta I_0), largest relative difference", worst, 1e-5));
  checks.push_back(near_relative("wave 1, V = -I: rate over that of heat", table.rows[0][3] * kBeta,
                                 -1, 1 / kBeta));
  // x - h A shortens x by 1 - h before it is normalised: all motion is 1/(1 - h) faster.
  checks.push_back(
      near_relative("wave 4 by layers of step 0.001", table.rows[3][5], -table.rows[3][2], 2e-3));
  return table;
}

/// 1 - mean cosine of one crowd over time, and by the theory of a plane. In d = 3 it is 2 s^2.
struct Crowd {
  std::vector<double> time, gap, theory;
  double clusters = 0;  // at the end
};

Crowd crowd_of(double spread, double beta, std::uint64_t tokens, std::uint64_t seed,
               const Effort& effort) {
  FlowSetup p;
  p.beta = beta;
  p.init = Arrangement::clusters;
  p.centres = 1;
  p.spread = spread;
  p.tokens = tokens;
  p.seed = seed;
  p.exact_limit = 10'000;
  p.time = 4;
  p.outputs = 16;
  p.tolerance = 1e-6;
  Crowd result;
  for (const observe::Observation& o : flow_of(p, effort).series) {
    result.time.push_back(o.time);
    result.gap.push_back(o.one_minus_mean_cosine);
    result.clusters = o.clusters;
    // ln v + beta v = ln v_0 + beta v_0 - 2 t, v = gap / 2, by Newton's method in ln v.
    const double v0 = result.gap.front() / 2, level = std::log(v0) + beta * v0 - 2 * o.time;
    double log_v = std::min(level, std::log(v0));
    for (int k = 0; k < 50; ++k)
      log_v -= (log_v + beta * std::exp(log_v) - level) / (1 + beta * std::exp(log_v));
    result.theory.push_back(2 * std::exp(log_v));
  }
  return result;
}

/// The same beta s^2, but four times closer: curvature matters 16 times less.
void compare_crowds(const Effort& effort, std::vector<Check>& checks) {
  const std::uint64_t tokens = effort.quick ? 300 : 4000;
  std::vector<double> ratios;
  for (std::uint64_t seed = 0; seed < 8 && !effort.context.stopped(); ++seed) {
    const Crowd crowd = crowd_of(0.05, 160, tokens, seed, effort);
    if (crowd.gap.size() > 4) ratios.push_back(crowd.gap[4] / crowd.theory[4]);
  }
  const Sampled ratio = sampled(ratios);
  // Sampling error, the curvature of the sphere, and 1/n: the theory has a density, not n tokens.
  checks.push_back(near("crowd of spread 0.05, beta = 160, t = 1: 1 - mean cosine over theory",
                        ratio.mean, 1,
                        3 * ratio.error + 0.05 * 0.05 + 1.0 / static_cast<double>(tokens)));
}

report::Panel density_panel(const FlowRecord& record) {
  report::Panel panel{.title = "V = −I, β = 50: tokens spread",
                      .x = {.label = "angle, degrees", .low = 0, .high = 360},
                      .y = {.label = "density × 2π", .low = 0, .high = 2.6}};
  for (const std::size_t at : {0U, 2U, 4U}) {
    const lab::Snapshot& s = record.snapshots[at];
    panel.series.push_back(angle_density(angles_of(s.positions), 36));
    panel.series.back().title = fmt::format("t = {:.3g}", s.time.value());
    panel.series.back().colour = report::kPalette[at / 2];
  }
  return panel;
}

report::Panel spread_panel(const Crowd& s) {
  report::Series points = dots("tokens", report::kVermillion, 4),
                 theory = line("Gaussian theory", report::kInk, 2);
  points.x = theory.x = s.time;
  points.y = s.gap, theory.y = s.theory;
  return {.title = "one crowd of spread 0.2, β = 10",
          .x = {.label = "time t"},
          .y = {.label = "1 − mean cosine", .scale = report::Scale::log},
          .series = {theory, points}};
}

Finding run(const Effort& effort) {
  Finding finding;
  finding.answer.tables = {compare_waves(effort, finding.checks)};
  FlowSetup p = on_circle(true, 2, 0.25);
  p.tokens = effort.quick ? 1200 : 50'000;
  p.time = 20;
  p.outputs = 4;
  p.snapshots = 5;
  p.exact_limit = 1000;
  const FlowRecord record = flow_of(p, effort);
  const Crowd crowd = crowd_of(0.2, 10, effort.quick ? 1500 : 10'000, 0, effort);
  compare_crowds(effort, finding.checks);
  if (effort.context.stopped()) return finding;
  const double rate = -wave_growth(record, 2) * kBeta / 4, shrunk = crowd.gap[4] / crowd.theory[4];
  // Heat up to smoothing over the kernel, k^2 / (2 beta) of the rate, and as much for large waves.
  finding.checks.push_back(
      near("large wave, V = -I: rate of m_2 over that of heat", rate, 1, 4 / kBeta));
  finding.checks.push_back(
      near("crowd of spread 0.2, beta = 10: clusters at t = 4", crowd.clusters, 1, 0));
  finding.answer.headline = fmt::format(
      "Small waves decay under V = −I and grow under V = I as theory says; a large one decays at "
      "{:.3f} times the rate of heat; a crowd of spread 0.2 shrinks like a Gaussian, within {:.1f} "
      "%.",
      rate, 100 * std::abs(shrunk - 1));
  finding.answer.draw = [record, crowd] {
    return std::vector{
        two_columns("heat", {density_panel(record), spread_panel(crowd)},
                    "Left: density of tokens under V = −I. Right: a crowd under V = I.")};
  };
  return finding;
}

}  // namespace

Entry entry() {
  return {
      .id = "heat-flow",
      .title = "Attention as forward and backward heat",
      .source = "arXiv 2509.25040",
      .shows =
          "At large beta tokens on the circle with V = -I spread by the heat equation (beta = 50), "
          "with V = I by the backward one; a crowd of spread 0.2 at beta = 10 contracts to a "
          "point.",
      .run = run};
}

}  // namespace attractor::papers::heat_flow
