// The exact curve of the phase diagrams: n = 32 tokens that start orthogonal stay equiangular, and
// their time to cosine 0.999 is an integral. Tokens drawn at random in dimension d have cosines of
// size d^{-1/2}, so that their times approach the curve as d grows.
#include <fmt/format.h>

#include <cmath>

#include "attractor/base/numbers.hpp"
#include "attractor/depth/batch_flow.hpp"
#include "attractor/reductions/equiangular.hpp"
#include "papers/entry.hpp"
#include "papers/flow_run.hpp"
#include "papers/phases/phase_diagrams.hpp"
#include "papers/pictures.hpp"

namespace attractor::papers::equiangular_curve {
namespace {

constexpr std::size_t kDims[] = {32, 128, 1024, 1'000'000};

/// Time to cosine 0.999 by the closed form in exponential integrals, to 13 digits.
struct Exact {
  Rule rule;
  double beta, time;
};
constexpr Exact kExact[] = {
    {Rule::softmax, 1, 5.270283907586},      {Rule::softmax, 2, 5.458393682898},
    {Rule::softmax, 3, 5.897609345690},      {Rule::softmax, 4, 6.953501848808},
    {Rule::softmax, 5, 9.544329203520},      {Rule::softmax, 6, 15.99531354920},
    {Rule::unnormalised, 1, 2.897048622990}, {Rule::unnormalised, 2, 1.880417099555},
    {Rule::unnormalised, 3, 1.391519119167}};

meanfield::Equiangular problem(const Exact& e) {
  return {.tokens = 32, .beta = e.beta, .rule = e.rule};
}

double step_of(const Exact& e) {
  return e.rule == Rule::softmax ? 0.05 : depth::unnormalised_step(0.1, e.beta);
}

/// Where a rising curve first passes `level`, linear between its points; NaN: nowhere.
double passing(std::span<const double> x, std::span<const double> y, double level) {
  for (std::size_t k = 1; k < y.size(); ++k)
    if (y[k - 1] < level && y[k] >= level)
      return x[k - 1] + (x[k] - x[k - 1]) * (level - y[k - 1]) / (y[k] - y[k - 1]);
  return kNan;
}

/// When half of all pairs of random tokens have cosine 0.999; NaN: not by twice the exact time.
double random_time(const Exact& e, std::size_t dim, const Effort& effort) {
  const double h = step_of(e);
  depth::BatchPlan plan{.replicates = effort.quick ? 12U : 256U,
                        .dim = dim,
                        .rule = e.rule,
                        .betas = {e.beta},
                        .steps = {h},
                        .method = depth::BatchMethod::rk4,
                        .outputs = {},
                        .stop = effort.context.stop};
  for (double t = h; t < 1.6 * e.time; t += h) plan.outputs.push_back(t);
  const depth::BatchResult result = run_batch(plan);
  return result.stopped ? kNan : passing(plan.outputs, result.mean, 0.5);
}

/// By layers of softmax attention.
double layer_time(const Exact& e) {
  return e.rule == Rule::softmax ? papers::layer_time(problem(e), 1000) : kNan;
}

void compare(const Exact& e, Table& table, std::vector<Check>& checks, const Effort& effort) {
  const double curve = meanfield::EquiangularFlow(problem(e)).arrival(0.999).time();
  std::vector<double> row = {e.beta, e.time, layer_time(e)};
  for (const std::size_t dim : kDims)
    // Unnormalised steps are short: only the largest dimension.
    row.push_back(e.rule == Rule::softmax || dim > 10'000 ? random_time(e, dim, effort) : kNan);
  table.labels.push_back(e.rule == Rule::softmax ? "softmax" : "unnormalised");
  table.rows.push_back(row);
  const std::string where = fmt::format("{} attention, beta = {}", table.labels.back(), e.beta);
  checks.push_back(near_relative("exact time: " + where, curve, e.time, 1e-11));
  // Half of the interval at which pairs are counted; starts differ by 1e-3.
  checks.push_back(near("random tokens, d = 10^6: " + where, row.back(), e.time,
                        0.5 * step_of(e) + 1e-3 * e.time));
  if (e.rule == Rule::softmax && e.beta >= 4)
    checks.push_back(at_least("approach, |d = 128 - exact| over |d = 1024 - exact|: " + where,
                              std::abs(row[4] - e.time) / std::abs(row[5] - e.time), 2));
}

report::Panel time_panel(const Table& table) {
  report::Series exact = line("equiangular, exact", report::kInk, 2.5),
                 scheme = line("equiangular, layers of step 0.1", report::kGrey, 2, true);
  for (double beta = 0; beta <= 6.01; beta += 0.25) {
    const Exact e{Rule::softmax, beta, 0};
    add_point(exact, beta, meanfield::EquiangularFlow(problem(e)).arrival(0.999).time());
    add_point(scheme, beta, layer_time(e));
  }
  report::Panel panel{.title = "time to cosine 0.999",
                      .x = {.label = "inverse temperature β", .low = 0, .high = 6.2},
                      .y = {.label = "time t", .low = 0},
                      .series = {exact, scheme}};
  const char* names[] = {"random, d = 32", "random, d = 128", "random, d = 1024",
                         "random, d = 10^{6}"};
  for (std::size_t k = 0; k < 4; ++k) {
    report::Series points = dots(names[k], report::kPalette[k], 4);
    for (std::size_t r = 0; r < table.rows.size(); ++r)
      if (table.labels[r] == "softmax") add_point(points, table.rows[r][0], table.rows[r][3 + k]);
    panel.series.push_back(points);
  }
  return panel;
}

/// Mean cosine of one random start against the exact curve.
report::Panel path_panel(const Effort& effort, std::vector<Check>& checks) {
  report::Panel panel{.title = "mean cosine, one start in d = 1024",
                      .x = {.label = "time t", .low = 0, .high = 12},
                      .y = {.label = "mean cosine", .low = 0, .high = 1.02}};
  std::size_t colour = 0;
  for (const double beta : {1.0, 4.0, 5.0}) {
    const meanfield::EquiangularFlow curve({.tokens = 32, .beta = beta});
    FlowSetup p;
    p.tokens = 32;
    p.dim = 1024;
    p.beta = beta;
    p.time = 12;
    p.outputs = 24;
    p.tolerance = 1e-4;
    p.snapshots = 2;
    report::Series exact = line(fmt::format("β = {}", beta), report::kPalette[colour], 2),
                   points = dots("", report::kPalette[colour++], 4);
    double worst = 0;
    for (double t = 0; t <= 12; t += 0.1) add_point(exact, t, curve.at(std::log(t)).cosine);
    for (const observe::Observation& o : flow_of(p, effort).series) {
      add_point(points, o.time, o.mean_cosine);
      worst = std::max(worst, std::abs(o.mean_cosine - curve.at(std::log(o.time)).cosine));
    }
    panel.series.push_back(std::move(exact));
    panel.series.push_back(std::move(points));
    // A start's mean cosine is off by 0.0014, which is 0.022 of time, three times that in all.
    if (beta < 2)
      checks.push_back(
          at_most("mean cosine of random tokens (d = 1024, beta = 1) from the curve", worst, 0.05));
  }
  return panel;
}

Finding run(const Effort& effort) {
  Finding finding;
  Table table{
      .name = "times",
      .title =
          "Time to cosine 0.999 of 32 tokens: exact, by layers of step 0.1, and of random tokens",
      .columns = {"beta", "exact", "layers", "d_32", "d_128", "d_1024", "d_1000000"},
      .label_column = "rule"};
  for (const Exact& e : kExact) {
    compare(e, table, finding.checks, effort);
    if (effort.context.stopped()) return finding;
    effort.context.tell(static_cast<double>(table.rows.size()) / std::size(kExact), "curves");
  }
  const report::Panel path = path_panel(effort, finding.checks);
  const std::vector<double>& five = table.rows[4];
  finding.answer.headline = fmt::format(
      "At β = 5 equiangular tokens reach cosine 0.999 at t = {:.3f}; random tokens at {:.2f} in d "
      "= "
      "128, {:.2f} in d = 1024 and {:.2f} in d = 10^{{6}}; layers of step 0.1 at {:.1f}.",
      five[1], five[4], five[5], five[6], five[2]);
  finding.answer.tables = {table};
  finding.answer.draw = [table, path] {
    return std::vector{two_columns(
        "curve", {time_panel(table), path},
        "Left: when half of all pairs have met. Right: lines are exact, points are tokens.")};
  };
  return finding;
}

}  // namespace

Entry entry() {
  return {
      .id = "equiangular-curve",
      .title = "The exact curve of equiangular tokens",
      .source = "arXiv 2312.10794, 2512.01868",
      .shows =
          "In high dimension random tokens are nearly orthogonal and follow one scalar equation "
          "for their common cosine; the time at which it reaches 0.999 is the boundary seen in "
          "the phase diagrams.",
      .run = run};
}

}  // namespace attractor::papers::equiangular_curve
