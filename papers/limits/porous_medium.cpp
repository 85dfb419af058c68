// Unnormalised attention at large beta is the backward porous-medium equation: with mu a density of
// surface measure, int e^{beta <x,y>} mu(y) dy -> e^beta (2 pi/beta)^{(d-1)/2} mu(x), so that
//
//   d mu/d tau = -(1/2) Laplacian(mu^2),   tau = t e^beta (2 pi/beta)^{(d-1)/2} / beta.
//
// On the circle, with 2 pi mu = 1 + 2 sum m_k cos k theta and m_0 = 1, m_{-k} = m_k,
//
//   dm_k/d tau = (k^2/4 pi) sum_j m_j m_{k-j}.
//
// Small waves grow at k^2/2 pi, attention's at k^2 I_k(beta)/beta: (2 pi/beta)^{1/2} e^beta/beta
// times that, up to 1 - (4k^2-1)/8 beta. The equation is ill-posed: both are cut off at the same K
// modes, from a start of one mode and up to tau = 1/2, in which the last mode grows by
// e^{K^2 tau/2 pi}. Within that window they differ by O(1/beta).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

#include "attractor/flow/run.hpp"
#include "attractor/mean_field/circle_density.hpp"
#include "attractor/mean_field/start_density.hpp"
#include "attractor/stability/stability.hpp"
#include "papers/entry.hpp"
#include "papers/flow_run.hpp"
#include "papers/limits/graded_circle.hpp"
#include "papers/pictures.hpp"

namespace attractor::papers::porous_medium {
namespace {

using std::numbers::pi;

constexpr std::size_t kModes = 12;
constexpr double kWave = 0.4;  // 2 pi mu = 1 + kWave cos theta at the start
constexpr double kEnd = 0.5;   // tau
constexpr std::size_t kShown = 4;

/// ln of dt/d tau.
double log_clock(double beta) { return std::log(beta) - beta - std::log(2 * pi / beta) / 2; }

using Waves = std::vector<double>;  // m_0 .. m_K

Waves slope_of(const Waves& m) {
  const auto last = static_cast<std::ptrdiff_t>(m.size()) - 1;
  Waves slope(m.size());
  for (std::ptrdiff_t k = 1; k <= last; ++k) {
    double sum = 0;
    for (std::ptrdiff_t j = k - last; j <= last; ++j) sum += m[std::abs(j)] * m[std::abs(k - j)];
    slope[k] = static_cast<double>(k * k) / (4 * pi) * sum;
  }
  return slope;
}

Waves moved(const Waves& m, const Waves& by, double h) {
  Waves result = m;
  for (std::size_t k = 0; k < m.size(); ++k) result[k] += h * by[k];
  return result;
}

/// By Runge and Kutta's method; its error is seen in half as many steps.
Waves porous(std::size_t modes, double tau, int steps) {
  Waves m(modes + 1);
  m[0] = 1, m[1] = kWave / 2;
  const double h = tau / steps;
  for (int s = 0; s < steps; ++s) {
    const Waves a = slope_of(m), b = slope_of(moved(m, a, h / 2)), c = slope_of(moved(m, b, h / 2)),
                d = slope_of(moved(m, c, h));
    for (std::size_t k = 0; k <= modes; ++k) m[k] += h / 6 * (a[k] + 2 * b[k] + 2 * c[k] + d[k]);
  }
  return m;
}

Waves attention(double beta, std::size_t modes, double tau, const Effort& effort) {
  meanfield::CircleDensity density({.rule = Rule::unnormalised, .beta = beta},
                                   {.modes = modes, .max_modes = modes, .twin = true});
  flow::Progress progress{
      .state = density.state(meanfield::perturbed_circle(1, kWave).moments(modes + 1))};
  flow::run(density, flow::dormand_prince(),
            {.end = flow::Time(tau, log_clock(beta)), .tolerance = 1e-13}, progress,
            {.stop = effort.context.stop});
  Waves m;
  for (const std::complex<double>& c : meanfield::moments_of(progress.state)) m.push_back(c.real());
  return m;
}

/// The same of tokens, which know of no modes.
Waves tokens(double beta, double tau, const Effort& effort) {
  FlowSetup p = at_angles(meanfield::circle_labels(meanfield::perturbed_circle(1, kWave), 256));
  p.dynamics = Rule::unnormalised;
  p.beta = beta;
  p.log10_time = (std::log(tau) + log_clock(beta)) / std::numbers::ln10;
  p.outputs = 1;
  p.snapshots = 2;
  p.merge_radius = 0;
  p.tolerance = 1e-12;
  p.engine = depth::Engine::dense;
  const std::vector<double> angles =
      angles_on_circle(flow_of(p, effort).snapshots.back().positions);
  Waves m(kShown + 1);
  for (std::size_t k = 0; k <= kShown; ++k)
    for (const double a : angles)
      m[k] += std::cos(static_cast<double>(k) * a) / static_cast<double>(angles.size());
  return m;
}

double apart(const Waves& a, const Waves& b) {
  double largest = 0;
  for (std::size_t k = 1; k <= kShown; ++k) largest = std::max(largest, std::abs(a[k] - b[k]));
  return largest;
}

/// The constant of the clock: growth of small waves in units of it.
void compare_rates(std::vector<Check>& checks) {
  const double beta = 1e4;
  const meanfield::Stability s =
      meanfield::stability({.rule = Rule::unnormalised, .beta = beta}, kShown);
  double worst = 0;
  for (std::size_t k = 1; k <= kShown; ++k) {
    const auto square = static_cast<double>(k * k);
    const double rate = std::exp(s.log_growth(k) + log_clock(beta));
    const double next = (4 * square - 1) * (4 * square - 9) / (128 * beta * beta);
    const double law = square / (2 * pi) * (1 - (4 * square - 1) / (8 * beta) + next);
    worst = std::max(worst, std::abs(rate / law - 1));
  }
  // What follows is (4k^2-1)(4k^2-9)(4k^2-25)/(6 (8 beta)^3): twice that of k = 4.
  checks.push_back(at_most(
      "k^2 I_k/beta in the unit of tau, beta = 1e4, from k^2/2 pi and its next two orders in "
      "1/beta: largest",
      worst, 2 * 63.0 * 55 * 39 / (6 * 512 * beta * beta * beta)));
}

PageFigure figure(const Table& table, const Waves& law, const Waves& attended) {
  report::Panel error{.title = "difference",
                      .x = {.label = "β", .scale = report::Scale::log},
                      .y = {.label = "largest of m_{1} to m_{4}", .scale = report::Scale::log}};
  report::Series found = dots("attention", report::kVermillion, 4.5),
                 one = line("1/β", report::kGrey, 1.5, true);
  for (const std::vector<double>& r : table.rows) {
    add_point(found, r[0], r[1]);
    add_point(one, r[0], table.rows.back()[1] * table.rows.back()[0] / r[0]);
  }
  error.series = {one, found};
  report::Panel shape{.title = fmt::format("τ = {}", kEnd),
                      .x = {.label = "angle, degrees", .low = -180, .high = 180},
                      .y = {.label = "density × 2π", .low = 0}};
  report::Series start = line("start", report::kGrey, 1.5, true),
                 exact = line("porous medium", report::kInk),
                 seen = line("attention, β = 100", report::kVermillion, 2, true);
  for (int degrees = -180; degrees <= 180; degrees += 2) {
    double a = 1, b = 1;
    for (std::size_t k = 1; k <= kModes; ++k) {
      const double wave = std::cos(static_cast<double>(k) * degrees * pi / 180);
      a += 2 * law[k] * wave, b += 2 * attended[k] * wave;
    }
    add_point(start, degrees, 1 + kWave * std::cos(degrees * pi / 180));
    add_point(exact, degrees, a);
    add_point(seen, degrees, b);
  }
  shape.series = {start, exact, seen};
  return two_columns("porous", {std::move(shape), std::move(error)},
                     "Left: attention and the porous-medium equation from one wave. Right: how far "
                     "they are apart.");
}

Finding run(const Effort& effort) {
  Finding finding;
  compare_rates(finding.checks);
  const Waves law = porous(kModes, kEnd, 2000), coarse = porous(kModes, kEnd, 1000),
              more = porous(3 * kModes / 2, kEnd, 4000);
  Table table{.name = "waves",
              .title = fmt::format("Waves at τ = {}: attention less porous medium", kEnd),
              .columns = {"beta", "largest_difference", "times_beta", "m1", "m2", "m3", "m4"}};
  for (const double beta : {100.0, 200.0, 400.0, 800.0, 1600.0, 3200.0}) {
    const Waves m = attention(beta, kModes, kEnd, effort);
    if (effort.context.stopped()) return finding;
    table.rows.push_back({beta, apart(m, law), beta * apart(m, law), m[1], m[2], m[3], m[4]});
  }
  const auto& r = table.rows;
  const double order = std::log(r[5][1] / r[4][1]) / std::log(2.0);
  const Waves dense = tokens(100, kEnd, effort), spectral = attention(100, 64, kEnd, effort);
  if (effort.context.stopped()) return finding;
  finding.checks.push_back(
      near("order in 1/beta of the difference, beta = 1600 to 3200", -order, 1, 0.02));
  finding.checks.push_back(near("difference extrapolated to beta = infinity (m_1 to m_4)",
                                2 * r[5][1] - r[4][1], 0, r[5][1] / 50));
  finding.checks.push_back(at_most("porous medium: half the steps", apart(law, coarse), 1e-9));
  finding.checks.push_back(
      at_most("porous medium: half as many modes again", apart(law, more), 1e-9));
  finding.checks.push_back(at_most("256 tokens, beta = 100: from the density with 64 modes",
                                   apart(dense, spectral), 1e-8));
  finding.answer.headline = fmt::format(
      "From 1 + {} cos θ to τ = {} attention and the porous-medium equation differ by {:.1e} at β "
      "= 100 and {:.1e} at 3200, like β^{{{:.3f}}}; tokens at β = 100 have m_{{1}} = {:.6f}, the "
      "equation {:.6f}.",
      kWave, kEnd, r[0][1], r[5][1], order, dense[1], law[1]);
  finding.answer.remarks = {fmt::format(
      "Window: {} modes, tau <= {}, in which the last mode grows by e^{:.1f}. Beyond it the answer "
      "of the equation depends on the number of modes, as it must.",
      kModes, kEnd, kModes * kModes * kEnd / (2 * pi))};
  finding.answer.tables.push_back(table);
  const Waves shown = attention(100, kModes, kEnd, effort);
  finding.answer.draw = [table, law, shown] { return std::vector{figure(table, law, shown)}; };
  return finding;
}

}  // namespace

Entry entry() {
  return {.id = "porous-medium",
          .title = "Unnormalised attention as a backward porous medium",
          .source = "arXiv 2512.01868, section 3",
          .shows =
              "As beta grows unnormalised attention, on a rescaled clock, tends to the backward "
              "porous-medium equation.",
          .run = run};
}

}  // namespace attractor::papers::porous_medium
