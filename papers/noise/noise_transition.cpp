// Noise against attention on the circle: below beta_* order appears continuously at kappa_#, above
// it by a jump at kappa_c > kappa_#, with hysteresis up to the fold. Particles sweep the noise up
// and down; tokens moved by the attention kernel itself stand at the stable state.
#include <fmt/format.h>

#include <cmath>

#include "attractor/base/numbers.hpp"
#include "attractor/commands/density/stationary_experiment.hpp"
#include "papers/entry.hpp"
#include "papers/flow_run.hpp"
#include "papers/sample.hpp"

namespace attractor::papers::noise_transition {
namespace {

using lab::StationarySetup;

const Table& table_named(const Result& answer, const std::string& name) {
  for (const Table& table : answer.tables)
    if (table.name == name) return table;
  return answer.tables.front();
}

double value(const Result& answer, const char* key) {
  const Json& found = answer.values.at(key);
  return found.is_number() ? found.get<double>() : kNan;
}

/// Order of the stable ordered state.
double stationary_order(Rule rule, double beta, double ratio, const Effort& effort) {
  StationarySetup p;
  p.dynamics = rule;
  p.beta = beta;
  p.noise_ratio = ratio;
  return table_named(ask(p, effort.context), "states").rows.back()[0];
}

/// Time average of |E x| of n noisy tokens moved by Euler-Maruyama, from an ordered start.
Sampled token_order(double beta, double noise, const Effort& effort) {
  FlowSetup p;
  p.dynamics = Rule::unnormalised;
  p.dim = 2;
  p.beta = beta;
  p.noise = noise;
  p.tokens = effort.quick ? 200 : 1000;
  p.init = Arrangement::cap;
  p.cap_angle = 0.6;
  p.time = effort.quick ? 4 : 12;
  p.step = 2e-3;
  p.outputs = 240;
  p.output_spacing = lab::Spacing::linear;
  p.snapshots = 2;
  p.exact_limit = 1;
  p.seed = 4;
  const FlowRecord record = flow_of(p, effort);
  std::vector<double> blocks;
  const std::size_t skip = record.series.size() / 5, size = record.series.size() / 10;
  for (std::size_t b = 0; b < 8; ++b) {
    double sum = 0;
    for (std::size_t k = 0; k < size; ++k)
      sum += record.series[skip + b * size + k].order_parameter;
    blocks.push_back(sum / static_cast<double>(size));
  }
  return {mean(blocks), standard_error(blocks)};
}

void add_theory(Finding& finding, const Result& jump, const Effort& effort) {
  struct Row {
    double beta, fold, transition, order;
  };
  const Row rows[] = {{3, 1.011444, 1.008852, 0.481544}, {9, 1.325789, 1.269300, 0.858822}};
  finding.checks = {
      near("beta_* on the circle", value(jump, "tricritical_beta"), 2.446918311289, 1e-10),
      near_relative("linear threshold at beta = 4", value(jump, "critical_noise"), 2.439866288426,
                    1e-11),
      near("kappa_c / kappa_# at beta = 4", value(jump, "transition_noise_ratio"), 1.046959, 1e-6),
      near("fold / kappa_# at beta = 4", value(jump, "fold_noise_ratio"), 1.058877, 1e-6),
      near("jump of R at beta = 4", value(jump, "jump"), 0.668806, 1e-6)};
  for (const Row& r : rows) {
    StationarySetup p;
    p.beta = r.beta;
    const Result answer = ask(p, effort.context);
    const std::string at = fmt::format(" at beta = {}", r.beta);
    finding.checks.push_back(
        near("fold / kappa_#" + at, value(answer, "fold_noise_ratio"), r.fold, 1e-6));
    finding.checks.push_back(near("kappa_c / kappa_#" + at, value(answer, "transition_noise_ratio"),
                                  r.transition, 1e-6));
  }
  StationarySetup p;
  p.beta = 2;
  const Result smooth = ask(p, effort.context);
  finding.checks.push_back(
      at_most("jump of R at beta = 2, below beta_*", value(smooth, "jump"), 0));
  p.beta = 9;
  p.dynamics = Rule::softmax;
  const Result softmax = ask(p, effort.context);
  finding.checks.push_back(at_most("softmax at beta = 9: curvature of the branch (no jump)",
                                   value(softmax, "branch_curvature"), 0));
}

/// The largest order that was met on the way up beyond the linear threshold, and the least there on
/// the way down.
void add_sweep(Finding& finding, const Result& jump) {
  const Table& sweep = table_named(jump, "sweep");
  double gap = 0;
  for (std::size_t a = 0; a < sweep.rows.size(); ++a)
    for (std::size_t b = 0; b < sweep.rows.size(); ++b)
      if (sweep.labels[a] == "up" && sweep.labels[b] == "down" &&
          std::abs(sweep.rows[a][0] - sweep.rows[b][0]) < 1e-12 && sweep.rows[a][0] > 1)
        gap = std::max(gap, sweep.rows[a][1] - sweep.rows[b][1]);
  finding.checks.push_back(at_least(
      "hysteresis of particles at beta = 9: R up minus R down above kappa_#, largest", gap, 0.5));
}

Finding run(const Effort& effort) {
  StationarySetup p;
  p.beta = 4;
  const Result four = ask(p, effort.context);
  p.beta = 9;
  p.diagram = true;
  p.particles = effort.quick ? 100 : 500;
  p.settle = effort.quick ? 4 : 10;
  p.average = effort.quick ? 4 : 20;
  Finding finding{.answer = ask(p, effort.context)};
  if (effort.context.stopped()) return finding;
  add_theory(finding, four, effort);
  add_sweep(finding, finding.answer);
  const double critical = value(four, "critical_noise");
  const double truth = stationary_order(Rule::unnormalised, 4, 0.9, effort);
  const Sampled tokens = token_order(4, 0.9 * critical, effort);
  if (effort.context.stopped()) return finding;
  // The step of 2e-3 and the finite number of tokens shift R by less than 1 %.
  finding.checks.push_back(near("R of noisy tokens at beta = 4, kappa = 0.9 kappa_#", tokens.mean,
                                truth, 0.01 * truth + 4 * tokens.error));
  finding.answer.headline = fmt::format(
      "Unnormalised attention on the circle orders continuously up to β_{{*}} = {:.4f} and by a "
      "jump above: at β = 4 to R = {:.4f} at κ_{{c}} = {:.4f} κ_{{#}}, fold at {:.4f}; tokens at "
      "0.9 κ_{{#}} have R = {:.3f} (theory {:.3f}).",
      finding.checks[0].got, finding.checks[4].got, finding.checks[2].got, finding.checks[3].got,
      tokens.mean, truth);
  finding.answer.values = Json::object();  // those of the figures, beta = 9
  for (const char* key : {"fold_noise_ratio", "transition_noise_ratio", "jump"})
    finding.answer.values[std::string(key) + "_at_4"] = four.values.at(key);
  finding.answer.remarks.push_back("Figures: beta = 9, where particles show the hysteresis.");
  return finding;
}

}  // namespace

Entry entry() {
  return {.id = "noise-transition",
          .title = "Noise: continuous and discontinuous order",
          .source = "arXiv 2606.05140, 2604.16288",
          .shows =
              "Attention with Brownian noise orders below a critical noise: continuously at "
              "the linear threshold up to beta_*, discontinuously above, where ordered and "
              "uniform states are both stable between the threshold and a fold.",
          .run = run};
}

}  // namespace attractor::papers::noise_transition
