// At beta = 0 attention on the circle is Kuramoto's model, solved on the wrapped Cauchy laws:
// R^2/(1-R^2) grows like e^t. At beta > 0 it is not, by amounts that a fine quadrature knows.
#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "papers/entry.hpp"
#include "papers/flow_run.hpp"
#include "papers/limits/labelled_order.hpp"
#include "papers/pictures.hpp"

namespace attractor::papers::kuramoto {
namespace {

using std::numbers::pi;

constexpr double kOrder = 0.3;  // R at the start

double exact_order(double time) {
  const double odds = kOrder * kOrder / (1 - kOrder * kOrder) * std::exp(time);
  return std::sqrt(odds / (1 + odds));
}

FlowSetup on_circle(const std::vector<double>& angles, double beta, double time) {
  FlowSetup p = at_angles(angles);
  p.beta = beta;
  p.time = time;
  p.tolerance = 1e-11;
  p.output_spacing = lab::Spacing::linear;
  p.merge_radius = 0;
  return p;
}

/// A Moebius image of a regular polygon stays one: finitely many tokens follow the law exactly, but
/// for R^n of aliasing, 2e-11 at t = 3.
FlowRecord wrapped_cauchy(Rule rule, double beta, const Effort& effort) {
  const int n = 120;
  const double ratio = (1 - kOrder) / (1 + kOrder);
  std::vector<double> angles;
  for (int i = 0; i < n; ++i)
    angles.push_back(2 * std::atan(ratio * std::tan(pi * ((i + 0.5) / n - 0.5))));
  FlowSetup p = on_circle(angles, beta, 6);
  p.dynamics = rule;
  p.outputs = 60;
  return flow_of(p, effort);
}

double pair_angle(const Effort& effort) {
  FlowSetup p = on_circle({0, 2}, 0, 1.5);
  p.outputs = 1;
  return std::acos(flow_of(p, effort).series.back().mean_cosine);
}

std::vector<PageFigure> figures(const std::vector<FlowRecord>& records) {
  const report::Colour colours[] = {report::kBlue, report::kGreen, report::kOrange,
                                    report::kVermillion};
  report::Panel panel{.x = {.label = "t", .low = 0, .high = 6},
                      .y = {.label = "order parameter R", .low = 0, .high = 1.02}};
  report::Series exact = line("exact, β = 0", report::kInk, 4);
  for (double t = 0; t <= 6; t += 0.05) add_point(exact, t, exact_order(t));
  panel.series.push_back(exact);
  for (std::size_t k = 0; k < records.size(); ++k) {
    const FlowSetup& p = records[k].setup;
    report::Series curve =
        k == 0 ? dots("tokens, β = 0", colours[k])
               : line(fmt::format("{}, β = {:g}", p.dynamics, p.beta), colours[k], 2, k > 1);
    for (const observe::Observation& o : records[k].series)
      add_point(curve, o.time, o.order_parameter);
    panel.series.push_back(std::move(curve));
  }
  return {picture("order", "From Kuramoto to attention", {std::move(panel)},
                  "120 tokens on a wrapped Cauchy law of order 0.3. At β = 0 both rules are "
                  "Kuramoto's model and follow its closed form (thick).")};
}

Finding run(const Effort& effort) {
  std::vector<FlowRecord> records;
  double worst = 0;
  for (const Rule rule : {Rule::softmax, Rule::unnormalised}) {
    FlowRecord record = wrapped_cauchy(rule, 0, effort);
    for (const observe::Observation& o : record.series)
      if (o.time <= 3) worst = std::max(worst, std::abs(o.order_parameter - exact_order(o.time)));
    if (records.empty()) records.push_back(std::move(record));
  }
  for (const auto& [rule, beta] :
       {std::pair{Rule::unnormalised, 1.0}, {Rule::softmax, 1.0}, {Rule::softmax, 4.0}})
    records.push_back(wrapped_cauchy(rule, beta, effort));
  struct Row {
    Rule rule;
    double beta, time, truth;
  };
  const Row rows[] = {{Rule::softmax, 0, 1, 0.3715773138682},
                      {Rule::softmax, 1, 1, 0.3575110455509},
                      {Rule::unnormalised, 1, 1, 0.3967536386277},
                      {Rule::softmax, 4, 1, 0.2958528176843},
                      {Rule::unnormalised, 4, 0.1, 0.3093931020249}};
  Table table{.name = "orders",
              .title = "Order parameter from θ = 2πu + ½ sin 2πu",
              .columns = {"beta", "time", "tokens", "reference"},
              .label_column = "rule"};
  Finding finding;
  finding.checks = {
      at_most("R against the closed form at beta = 0, t up to 3, largest difference", worst, 1e-9),
      near("angle of two tokens at beta = 0, first 2, t = 1.5", pair_angle(effort), 0.6689000994797,
           1e-9)};
  for (const Row& r : rows) {
    if (effort.context.stopped()) return finding;
    const double order = labelled_order(r.rule, r.beta, r.time, effort);
    table.labels.emplace_back(name(r.rule));
    table.rows.push_back({r.beta, r.time, order, r.truth});
    finding.checks.push_back(near(
        fmt::format("R of {} at beta = {}, t = {}", r.rule, r.beta, r.time), order, r.truth, 1e-9));
  }
  finding.answer.headline = fmt::format(
      "At β = 0 the order parameter follows R^{{2}}/(1−R^{{2}}) ∝ e^{{t}} within {:.0e}; at β = 4 "
      "softmax attention reaches R = {:.4f} at t = 1 instead of {:.4f}.",
      worst, table.rows[3][2], table.rows[0][2]);
  finding.answer.tables.push_back(std::move(table));
  finding.answer.draw = [records] { return figures(records); };
  return finding;
}

}  // namespace

Entry entry() {
  return {.id = "kuramoto",
          .title = "Attention at beta = 0 is Kuramoto's model",
          .source = "arXiv 2312.10794, theorem-level",
          .shows =
              "On the circle attention at beta = 0 is the Kuramoto model of identical "
              "oscillators; its order parameter has a closed form on wrapped Cauchy laws "
              "(Ott and Antonsen).",
          .run = run};
}

}  // namespace attractor::papers::kuramoto
