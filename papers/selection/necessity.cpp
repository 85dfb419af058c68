// What is not a limit: a max-margin direction with a tight token of no smaller score repels, and
// with several inputs equal scores of the others do not make the best tokens the limit.
#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "attractor/space/space.hpp"
#include "papers/directions.hpp"
#include "papers/entry.hpp"
#include "papers/pictures.hpp"
#include "papers/select_run.hpp"

namespace attractor::papers::necessity {
namespace {

struct Case {
  const char *data, *words;
  std::size_t token;
};
constexpr Case kCases[] = {{"single-equal", "token 1, its tight token scores the same", 1},
                           {"single-equal", "token 2, its tight tokens score no less", 2},
                           {"single-local", "token 2, its tight tokens score more", 2}};
constexpr double kFarOut = 10, kPush = 1e-3;
/// Counterexample (theory reference): the flow from 0 ends with tokens 2 0 0, ln t = 200.
constexpr double kCounterNorm = 0.7407530046134, kCounterCosine = 0.999714, kBestCosine = 0.338473,
                 kBestNorm = 2.515870613374;

/// Starts beside R times the solution and sees how the cosine to it falls.
report::Series leave(const Case& c, report::Colour colour, const Effort& effort, Finding& finding,
                     Table& table) {
  training::Problem problem = example_named(c.data);
  const training::MaxMargin svm = margin_of(problem, training::Train::p, {c.token});
  problem.prompt = svm.solution;
  for (double& x : problem.prompt) x *= kFarOut / svm.norm;
  problem.prompt[0] += kPush, problem.prompt[1] += kPush;
  SelectSetup p;
  p.steps = 10000;
  const SelectRecord r = train(p, problem, effort);
  report::Series series = line(fmt::format("{}: {}", c.data, c.words), colour);
  for (std::size_t k = 0; k < r.series.size(); ++k)
    if (r.series[k].steps >= 1)
      add_point(series, r.series[k].steps, cosine(weights_of(r, k), svm.solution));
  const double end = cosine(r.weights, svm.solution);
  table.labels.push_back(series.title);
  table.rows.push_back(
      {svm.locally_optimal ? 1.0 : 0.0, series.y.front(), end, static_cast<double>(r.selected[0])});
  finding.checks.push_back(
      between(series.title + ": locally optimal", svm.locally_optimal ? 1 : 0, 0, 0));
  finding.checks.push_back(
      at_least(series.title + ": cosine at the start", series.y.front(), 0.999));
  finding.checks.push_back(at_most(series.title + ": cosine after 10000 steps", end, 0.5));
  return series;
}

double inner(const training::MaxMargin& svm, std::span<const double> w) {
  return cosine(w, svm.solution);
}

struct Counter {
  report::Panel panel{};
  double best_cosine = 0;  // to the solution of the best tokens
};

Counter counterexample(const Effort& effort, std::vector<Check>& checks) {
  SelectSetup p;
  p.data.name = "example:counterexample";
  p.optimizer = lab::Optimizer::flow;
  p.log10_time = 200 / std::numbers::ln10;
  const SelectRecord r = select(p, effort);
  if (effort.context.stopped() || !r.svm) return {};
  const training::MaxMargin best = margin_of(r.problem, training::Train::p, {0, 0, 0});
  const bool misses = r.selected == std::vector<std::size_t>{2, 0, 0};
  checks.push_back(
      between("counterexample: the flow from 0 selects tokens 2 0 0", misses ? 1 : 0, 1, 1));
  checks.push_back(between("counterexample: that choice is locally, not globally optimal",
                           r.svm->locally_optimal && !r.svm->globally_optimal ? 1 : 0, 1, 1));
  checks.push_back(
      near("counterexample: norm of its max-margin solution", r.svm->norm, kCounterNorm, 1e-12));
  checks.push_back(
      near("counterexample: norm of that of the best tokens", best.norm, kBestNorm, 1e-11));
  checks.push_back(near("counterexample: cosine to the solution selected at ln t = 200", r.cosine,
                        kCounterCosine, 1e-6));
  checks.push_back(near("counterexample: cosine to that of the best tokens",
                        inner(best, r.attention), kBestCosine, 1e-6));
  report::Panel panel{.title = "three inputs, flow from 0",
                      .x = {.label = "time t", .scale = report::Scale::power},
                      .y = {.label = "cosine", .low = 0, .high = 1.05}};
  report::Series own = line("to the solution of tokens 2 0 0", report::kVermillion);
  report::Series other = line("to that of the best tokens", report::kBlue);
  for (std::size_t k = 1; k < r.series.size(); ++k) {
    const auto at = weights_of(r, k);
    add_point(own, r.series[k].log10_time, inner(*r.svm, at));
    add_point(other, r.series[k].log10_time, inner(best, at));
  }
  panel.series = {std::move(own), std::move(other)};
  return {std::move(panel), inner(best, r.attention)};
}

Finding run(const Effort& effort) {
  Finding finding;
  Table table{
      .name = "directions",
      .title = "Started at |p| = 10, 0.001 beside a max-margin direction",
      .columns = {"locally_optimal", "cosine_at_step_1", "cosine_at_step_10000", "token_selected"},
      .label_column = "direction"};
  report::Panel panel{.x = {.label = "step", .scale = report::Scale::log},
                      .y = {.label = "cosine to the direction left", .low = -1.05, .high = 1.05}};
  for (std::size_t k = 0; k < 3; ++k) {
    panel.series.push_back(leave(kCases[k], report::kPalette[k], effort, finding, table));
    if (effort.context.stopped()) return {};
  }
  const Counter counter = counterexample(effort, finding.checks);
  if (effort.context.stopped()) return {};
  panel.title = "one input, normalised steps";
  finding.answer.headline = fmt::format(
      "None of three directions that are not locally optimal holds p: cosines fall to {:.2f}, "
      "{:.2f} and {:.2f}. With three inputs the flow from 0 misses the best tokens (cosine {:.3f}) "
      "although all others share a score.",
      table.rows[0][2], table.rows[1][2], table.rows[2][2], counter.best_cosine);
  finding.answer.tables = {table};
  finding.answer.draw = [=] {
    return std::vector<PageFigure>{
        figure_of("leaving", {panel, counter.panel},
                  "Left: p starts far out, almost along a max-margin direction that is not locally "
                  "optimal, and leaves it. Right: for several inputs a local solution may be where "
                  "the flow from 0 goes.")};
  };
  return finding;
}

}  // namespace

Entry entry() {
  return {.id = "necessity",
          .title = "Directions that do not attract",
          .source = "arXiv 2306.13596, necessity of local optimality; our counterexample for n = 3",
          .shows =
              "If a tight token scores at least as much as the chosen one, gradient descent does "
              "not converge to that max-margin direction.",
          .run = run};
}

}  // namespace attractor::papers::necessity
