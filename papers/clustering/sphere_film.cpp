// The film of 64 tokens on the sphere: beta = 1, t up to 15, by layers of step 0.1 as published and
// by the flow itself. All gather in one point; near it 1 - cosine falls like e^{-2t}, by layers of
// step h like (1 + h)^{-2t/h}: each maps a difference d of tokens to d / (1 + h).
#include <fmt/format.h>

#include <cmath>

#include "attractor/commands/flow/token_figure.hpp"
#include "papers/entry.hpp"
#include "papers/flow_run.hpp"
#include "papers/pictures.hpp"
#include "papers/points.hpp"
#include "papers/textbook_layer.hpp"

namespace attractor::papers::sphere_film {
namespace {

using observe::Observation;

FlowSetup parameters(flow::Method stepper) {
  FlowSetup p;
  p.tokens = 64;
  p.dim = 3;
  p.beta = 1;
  p.time = 15;
  p.stepper = stepper;
  p.outputs = 150;
  p.output_spacing = lab::Spacing::linear;
  p.snapshots = 151;
  p.merge_radius = 0;
  return p;
}

/// -d ln(1 - mean cosine)/dt over the last two units of time.
double last_rate(const FlowRecord& record) {
  const Observation &end = record.series.back(), &before = record.series[record.series.size() - 21];
  return std::log(before.one_minus_mean_cosine / end.one_minus_mean_cosine) /
         (end.time - before.time);
}

/// Layer by layer, the largest difference from the same layer in plain arithmetic.
double textbook_error(const FlowRecord& record) {
  double error = 0;
  for (std::size_t k = 0; k + 1 < record.snapshots.size(); ++k) {
    const std::vector<double> next =
        textbook_layer(record.snapshots[k].positions, {.dim = 3, .beta = 1, .step = 0.1});
    error = std::max(error, largest_distance(next, record.snapshots[k + 1].positions, 3));
  }
  return error;
}

PageFigure curves(const FlowRecord& layers, const FlowRecord& flow) {
  const auto panel = [&](report::Axis y, double Observation::*value) {
    report::Series published = line("layers of step 0.1", report::kOrange, 2),
                   converged = line("flow", report::kBlue, 2);
    for (const Observation& o : layers.series) add_point(published, o.time, o.*value);
    for (const Observation& o : flow.series) add_point(converged, o.time, o.*value);
    return report::Panel{
        .x = {.label = "time t"}, .y = std::move(y), .series = {published, converged}};
  };
  return two_columns(
      "curves",
      {panel({.label = "energy / its maximum"}, &Observation::energy_ratio),
       panel({.label = "1 − mean cosine", .scale = report::Scale::log},
             &Observation::one_minus_mean_cosine)},
      "The same tokens by the published scheme and by the flow, which gathers faster.");
}

Finding run(const Effort& effort) {
  Finding finding;
  const FlowRecord layers = flow_of(parameters(flow::Method::layers), effort);
  FlowSetup exact = parameters(flow::Method::adaptive);
  exact.tolerance = 1e-11;
  const FlowRecord flow = flow_of(exact, effort);
  if (effort.context.stopped()) return finding;
  Table table{.name = "end",
              .title = "State at t = 15",
              .columns = {"clusters", "mean_cosine_gap", "energy_ratio", "last_rate"},
              .label_column = "scheme"};
  for (const FlowRecord* r : {&layers, &flow}) {
    const Observation& end = r->series.back();
    table.labels.push_back(r == &layers ? "as published" : "converged");
    table.rows.push_back(
        {end.clusters, end.one_minus_mean_cosine, end.energy_ratio, last_rate(*r)});
    const std::string scheme = r == &layers ? "published scheme: " : "flow: ";
    finding.checks.push_back(near(scheme + "clusters at t = 15", end.clusters, 1, 0));
    finding.checks.push_back(at_most(scheme + "largest fall of the energy",
                                     largest_fall(column(*r, &Observation::energy_ratio)), 1e-14));
    finding.checks.push_back(near(scheme + "last rate of 1 - mean cosine", last_rate(*r),
                                  r == &layers ? 20 * std::log(1.1) : 2, 1e-3));
  }
  finding.checks.push_back(
      at_most("a layer against plain arithmetic, largest distance", textbook_error(layers), 1e-14));
  finding.answer.headline = fmt::format(
      "64 tokens gather in one point: at t = 15 the mean cosine is 1 − {:.2g} as published and 1 − "
      "{:.2g} in the flow; 1 − cosine finally falls at rate {:.4f} and {:.4f}.",
      table.rows[0][1], table.rows[1][1], table.rows[0][3], table.rows[1][3]);
  finding.answer.tables = {table};
  finding.answer.draw = [layers, flow] {
    return std::vector{token_figure(layers, flow_view(layers)), curves(layers, flow)};
  };
  return finding;
}

}  // namespace

Entry entry() {
  return {.id = "sphere-film",
          .title = "Film of tokens on the sphere",
          .source = "arXiv 2312.10794, 2512.01868",
          .shows =
              "n = 64 tokens on the sphere, beta = 1, layers of step 0.1 up to t = 15: they gather "
              "in one cluster while the energy rises.",
          .run = run};
}

}  // namespace attractor::papers::sphere_film
