// How many modes a kernel density of independent points has, bandwidth 1/sqrt(beta). Uniform points
// on the circle: sqrt(3 beta/2) (Rice), without a logarithm, until bandwidths hold no more than a
// point, beta ~ n^2, and every point is a mode. Normal points on the line: at the same density, but
// over the stretch |t| < T where there are points, T^2 ~ 2 ln(n/sqrt(beta)): with beta = n
//
//   N = sqrt(3/2)/pi sqrt(beta) T,   T^2 = ln beta + O(1),
//
// so that (pi^2/1.5) N^2 / beta grows by 1 with ln beta on the line, and not at all on the circle.
// A mode is where attention to the points at rest moves nothing.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "attractor/base/numbers.hpp"
#include "attractor/base/random.hpp"
#include "attractor/depth/mean_shift/density_modes.hpp"
#include "attractor/depth/mean_shift/kernel_density.hpp"
#include "attractor/stability/line_modes.hpp"
#include "attractor/stability/stability.hpp"
#include "papers/entry.hpp"
#include "papers/limits/flat_modes.hpp"
#include "papers/pictures.hpp"
#include "papers/sample.hpp"

namespace attractor::papers::mode_count {
namespace {

using std::numbers::pi;

/// T^2 of a count.
double squared_stretch(double modes, double beta) { return pi * pi / 1.5 * modes * modes / beta; }

struct Counts {
  std::vector<double> log_beta{}, stretch{}, error{};  // T^2 and its standard error
  Table table;
};

/// Slope in ln beta and its standard error.
Sampled log_slope(const Counts& c) {
  const double centre = mean(c.log_beta);
  double bottom = 0, squares = 0;
  for (const double x : c.log_beta) bottom += (x - centre) * (x - centre);
  for (std::size_t k = 0; k < c.error.size(); ++k) {
    const double weight = (c.log_beta[k] - centre) / bottom * c.error[k];
    squares += weight * weight;
  }
  return {slope(c.log_beta, c.stretch), std::sqrt(squares)};
}

void add(Counts& c, double beta, const Sampled& modes) {
  c.log_beta.push_back(std::log(beta));
  c.stretch.push_back(squared_stretch(modes.mean, beta));
  c.error.push_back(2 * c.stretch.back() * modes.error / modes.mean);
}

Counts on_circle(const Effort& effort, std::vector<Check>& checks) {
  Counts counts{.table = {.name = "circle",
                          .title = "Uniform points on the circle: modes",
                          .columns = {"points", "beta", "modes", "standard_error", "rice",
                                      "sqrt(3 beta/2)"}}};
  const std::size_t points = effort.quick ? 100'000 : 1'000'000;
  const std::uint64_t samples = effort.quick ? 8 : 24;
  double worst = 0;
  for (const double beta : {1e2, 1e3, 1e4, 1e5}) {
    std::vector<double> found;
    for (std::uint64_t s = 0; s < samples && !effort.context.stopped(); ++s)
      found.push_back(circle_modes(points, beta, 2, s));
    const Sampled modes = sampled(found);
    const double rice = meanfield::expected_density_maxima(beta);
    add(counts, beta, modes);
    counts.table.rows.push_back(
        {static_cast<double>(points), beta, modes.mean, modes.error, rice, std::sqrt(1.5 * beta)});
    // Rice's pair is Gaussian up to one over the points in a bandwidth.
    const double few = 2 * pi * std::sqrt(beta) / static_cast<double>(points) * rice;
    worst = std::max(worst, std::abs(modes.mean - rice) / (4 * modes.error + few));
  }
  checks.push_back(
      at_most("circle: modes from Rice's number, largest over its allowance", worst, 1));
  const Sampled rise = log_slope(counts);
  checks.push_back(near("circle: slope of (pi^2/1.5) modes^2/beta in ln beta, no logarithm",
                        rise.mean, 0, 4 * rise.error));
  return counts;
}

/// The same number of points, ever narrower: from sqrt(3 beta/2) modes to one for each point.
Table until_points(const Effort& effort, std::vector<Check>& checks) {
  Table table{.name = "narrow",
              .title = "Uniform points on the circle, β up to 100 n^{2}",
              .columns = {"beta/n^2", "points_in_bandwidth", "modes", "over_sqrt(3 beta/2)",
                          "over_points"}};
  const std::size_t points = effort.quick ? 10'000 : 100'000;
  const auto n = static_cast<double>(points);
  for (const double share : {1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0}) {
    if (effort.context.stopped()) return table;
    const double beta = share * n * n, modes = circle_modes(points, beta, 3, 0);
    table.rows.push_back(
        {share, n / (2 * pi * std::sqrt(beta)), modes, modes / std::sqrt(1.5 * beta), modes / n});
  }
  // Maxima repel each other, so that their number varies less than a Poisson number.
  checks.push_back(near("circle, beta = n^2/1000: modes over sqrt(3 beta/2)", table.rows[1][3], 1,
                        4 / std::sqrt(table.rows[1][2])));
  const double close = 2 * table.rows[6][1];
  checks.push_back(near("circle, beta = 100 n^2: modes over points, against e^{-2 lambda}",
                        table.rows[6][4], std::exp(-close),
                        close * close + 4 * std::sqrt(close / n)));
  return table;
}

struct Size {
  double points;
  std::uint64_t samples;
};

Counts on_line(const FlatModes& flat, const Effort& effort, std::vector<Check>& checks) {
  Counts counts{.table = {.name = "line",
                          .title = "Normal points on the line, β = n: modes",
                          .columns = {"points", "modes", "standard_error", "kac_rice",
                                      "kac_rice_error", "squared_stretch"}}};
  std::vector<Size> sizes = {{1e3, 200}, {1e4, 50}, {1e5, 16}, {1e6, 6}};
  if (!effort.quick) sizes = {{1e3, 2000}, {1e4, 400}, {1e5, 100}, {1e6, 24}, {1e7, 6}};
  Counts expected;
  double worst = 0;
  for (const Size& size : sizes) {
    std::vector<double> found;
    for (std::uint64_t s = 0; s < size.samples && !effort.context.stopped(); ++s)
      found.push_back(line_modes(static_cast<std::size_t>(size.points), size.points, 4, s));
    const Sampled modes = sampled(found);
    const Expected rice = expected_line_modes(size.points, size.points, flat);
    add(counts, size.points, modes);
    add(expected, size.points, {rice.modes, rice.error});
    counts.table.rows.push_back(
        {size.points, modes.mean, modes.error, rice.modes, rice.error, counts.stretch.back()});
    worst = std::max(worst,
                     std::abs(modes.mean - rice.modes) / (4 * std::hypot(modes.error, rice.error)));
  }
  checks.push_back(
      at_most("line, beta = n: modes from Kac and Rice's number, largest over 4 standard errors",
              worst, 1));
  const Sampled rise = log_slope(counts), law = log_slope(expected);
  checks.push_back(near("line: slope of (pi^2/1.5) modes^2/beta in ln beta, against Kac and Rice",
                        rise.mean, law.mean, 4 * std::hypot(rise.error, law.error)));
  checks.push_back(
      at_least("line: that slope over its standard error", rise.mean / rise.error, 10));
  return counts;
}

/// By quadrature alone, where the logarithm has grown: the constant.
Table limits(const FlatModes& flat, std::vector<Check>& checks) {
  Table table{.name = "limit",
              .title = "Kac and Rice, β = n: the slope in ln β tends to 1",
              .columns = {"points", "modes_over_sqrt(beta_ln_beta)", "limit", "slope"}};
  double before = kNan, log_before = kNan;
  for (const double digits : {10.0, 20.0, 40.0, 80.0, 160.0}) {
    const double n = std::pow(10, digits), log_n = digits * std::numbers::ln10;
    const double modes = expected_line_modes(n, n, {flat.lambda, flat.factor, {}}).modes;
    const double stretch = squared_stretch(modes / std::sqrt(n), 1);
    table.rows.push_back({n, modes / std::sqrt(n) / std::sqrt(log_n),
                          meanfield::line_mode_constant(1),
                          (stretch - before) / (log_n - log_before)});
    before = stretch;
    log_before = log_n;
  }
  // What is left of T^2 is a constant and 1/T^2.
  checks.push_back(near("line, n = 1e80 to 1e160: slope of the quadrature in ln beta",
                        table.rows.back()[3], 1, 1 / (80 * std::numbers::ln10)));
  return table;
}

/// The largest step that attention to 10^4 points at rest makes at a mode, in bandwidths.
double step_at_modes() {
  const std::size_t points = 10'000;
  const double beta = 1e4;
  std::vector<double> places(points);
  Stream(4, "points on the line").normals(0, places);
  const std::vector<double> modes = density_modes(places, beta, depth::Curve::line);
  std::vector<double> shift(modes.size()), height(modes.size());
  depth::KernelDensity(places, 1, beta).evaluate(modes, shift, height);
  double largest = 0;
  for (const double s : shift) largest = std::max(largest, std::abs(s) * std::sqrt(beta));
  return largest;
}

report::Series measured(std::string title, report::Colour colour, const Counts& c) {
  report::Series series = dots(std::move(title), colour, 4.5);
  series.x = c.log_beta, series.y = c.stretch;
  return series;
}

std::vector<PageFigure> figures(const Counts& circle, const Counts& line_counts,
                                const Table& narrow) {
  report::Panel rise{.title = "the logarithm",
                     .x = {.label = "ln β"},
                     .y = {.label = "(π^{2}/1.5) modes^{2}/β", .low = 0}};
  report::Series law = line("Kac and Rice, line", report::kInk);
  for (std::size_t k = 0; k < line_counts.log_beta.size(); ++k)
    add_point(law, line_counts.log_beta[k],
              squared_stretch(line_counts.table.rows[k][3], line_counts.table.rows[k][0]));
  report::Series flat = line("√(3β/2), circle", report::kGrey, 2, true);
  add_point(flat, circle.log_beta.front(), pi * pi);
  add_point(flat, line_counts.log_beta.back(), pi * pi);
  rise.series = {law, flat,
                 measured("normal points on the line, β = n", report::kVermillion, line_counts),
                 measured("uniform points on the circle", report::kBlue, circle)};
  report::Panel until{.title = "circle, n fixed",
                      .x = {.label = "β/n^{2}", .scale = report::Scale::log},
                      .y = {.label = "modes / n", .scale = report::Scale::log}};
  report::Series found = dots("counted", report::kBlue, 4.5), root = line("√(3β/2)", report::kGrey);
  for (const std::vector<double>& r : narrow.rows) {
    add_point(found, r[0], r[4]);
    if (r[0] < 2) add_point(root, r[0], std::sqrt(1.5 * r[0]));
  }
  until.series = {root, found};
  until.horizontal = {{.at = 1, .dashed = true, .label = "every point"}};
  return {two_columns("modes", {std::move(rise), std::move(until)},
                      "Left: counts on samples; on the line they grow by a logarithm more than on "
                      "the circle. Right: on the circle until every point is a mode.")};
}

Finding run(const Effort& effort) {
  Finding finding;
  const Counts circle = on_circle(effort, finding.checks);
  const Table narrow = until_points(effort, finding.checks);
  const FlatModes flat = flat_modes(effort.quick ? 1e7 : 1e9, effort);
  if (effort.context.stopped()) return finding;
  const Counts line_counts = on_line(flat, effort, finding.checks);
  if (effort.context.stopped()) return finding;
  const Table limit = limits(flat, finding.checks);
  // Modes are known to 1e-5 bandwidths between nodes of the counting grid.
  finding.checks.push_back(at_most(
      "attention to points at rest: largest step at a mode, in bandwidths", step_at_modes(), 1e-4));
  const Sampled rise = log_slope(line_counts), level = log_slope(circle);
  finding.answer.headline = fmt::format(
      "On the line (π^{{2}}/1.5) modes^{{2}}/β grows by {:.3f} ± {:.3f} with ln β (limit 1, modes "
      "= "
      "{:.4f} √(β ln β)); on the circle by {:.3f} ± {:.3f}: √(3β/2) modes and no logarithm, until "
      "β ~ n^{{2}}.",
      rise.mean, rise.error, meanfield::line_mode_constant(1), level.mean, level.error);
  finding.answer.tables = {line_counts.table, circle.table, narrow, limit};
  finding.answer.remarks = {
      "The constant is our own, from Kac and Rice's formula; the paper has the order."};
  finding.answer.draw = [circle, line_counts, narrow] {
    return figures(circle, line_counts, narrow);
  };
  return finding;
}

}  // namespace

Entry entry() {
  return {.id = "mode-count",
          .title = "How many modes a kernel density has",
          .source = "arXiv 2412.09080; 2512.01868, section 5.3",
          .shows =
              "The Gaussian kernel density of n normal points on the line, bandwidth "
              "beta^{-1/2}, has of the order of sqrt(beta log beta) modes for n^c < beta < "
              "n^{2-c}; the survey expects the same order on the circle up to logarithms.",
          .run = run};
}

}  // namespace attractor::papers::mode_count
