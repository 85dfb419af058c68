// Proofs instead of plots: max-margin solutions in rational arithmetic and with duality gaps, and
// no finite minimiser: the loss stays above that of the best tokens while |p| grows.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <numbers>

#include "attractor/solve/constraints.hpp"
#include "attractor/space/space.hpp"
#include "papers/entry.hpp"
#include "papers/pictures.hpp"
#include "papers/select_run.hpp"
#include "papers/selection/published_inputs.hpp"

namespace attractor::papers::optimality_certificate {
namespace {

struct Case {
  const char* data;
  lab::Numbers choice, relaxed;
  const char* square;  // |p|^2 as a fraction, where it is short
  double value;        // |p|^2
};
/// Squared norms for keys (-0.1, 1), (1, 0), (0, 0): 100/101, 1, 2.21, up to the rounding of 0.1.
const Case kCases[] = {{"single-local", {0}, {}, "", 100.0 / 101},
                       {"single-local", {1}, {}, "1", 1},
                       {"single-local", {2}, {}, "", 2.21},
                       {"joint-tight", {1, 1, 1}, {}, "17/9", 17.0 / 9},
                       {"joint-relaxed", {1, 1, 1}, {}, "13/8", 13.0 / 8},
                       {"joint-relaxed", {1, 1, 1}, {2}, "1", 1},
                       {"authors-like", {0, 0, 0}, {}, "", 0.7351361561944 * 0.7351361561944}};
/// The authors' three inputs: in fractions of thirty digits, this is |p^mm|.
constexpr double kMultiNorm = 0.8617868586220678;
constexpr double kNorm = 0.7351361561944;

void prove(const Case& c, const Effort& effort, Finding& finding, Table& table) {
  SelectSetup p;
  p.data.name = fmt::format("example:{}", c.data);
  p.choice = c.choice;
  p.relaxed = c.relaxed;
  p.exact = true;
  const SelectRecord r = select(p, effort);
  if (!r.exact || !r.svm) return;
  const std::string name = fmt::format("{}, tokens {}{}", c.data, fmt::join(c.choice, ","),
                                       c.relaxed.empty() ? "" : ", input 2 relaxed");
  table.labels.push_back(name);
  table.rows.push_back({r.exact->proved ? 1.0 : 0.0, r.exact->squared_norm.value,
                        static_cast<double>(r.exact->support.size()), r.svm->relative_gap,
                        r.exact->error});
  finding.checks.push_back(
      between(name + ": proved in rational arithmetic", r.exact->proved ? 1 : 0, 1, 1));
  finding.checks.push_back(
      near_relative(name + ": |p|^2", r.exact->squared_norm.value, c.value, 1e-11));
  finding.checks.push_back(at_most(name + ": duality gap", r.svm->relative_gap, 1e-12));
  if (*c.square)
    finding.checks.push_back(between(name + ": |p|^2 is " + c.square + " exactly",
                                     r.exact->squared_norm.exact == c.square ? 1 : 0, 1, 1));
}

void prove_multi(Finding& finding) {
  const training::Problem p = published_multi();
  const std::vector<double> keys = training::keys(p);
  const solve::TokenChoice choice{.chosen = {0, 0, 0}};
  const solve::HardMargin answer =
      solve::hard_margin(solve::TokenDifferences(keys, p.tokens, p.dim, choice));
  const solve::ExactMargin exact = solve::exact_margin(
      {.tokens = p.x, .count = p.tokens, .dim = p.dim, .map = p.weights}, choice, answer);
  finding.checks.push_back(
      between("authors' three inputs: proved in rational arithmetic", exact.proved ? 1 : 0, 1, 1));
  finding.checks.push_back(near_relative("authors' three inputs: |p|",
                                         std::sqrt(exact.squared_norm.value), kMultiNorm, 1e-14));
}

/// The flow: L - L* > 0, (L - L*) t -> |p^mm|^2, |p| grows.
report::Panel no_minimiser(const Effort& effort, Finding& finding, Table& table) {
  report::Panel panel{
      .x = {.label = "time t", .scale = report::Scale::power},
      .y = {.label = "loss above that of the best tokens", .scale = report::Scale::power}};
  SelectSetup p;
  p.data.name = "example:authors-like";
  p.optimizer = lab::Optimizer::flow;
  double last = 0;
  for (const double time : {1.0, 3.0, 10.0, 100.0, effort.quick ? 400.0 : 1000.0}) {
    p.log10_time = time;
    const SelectRecord r = select(p, effort);
    if (effort.context.stopped()) return panel;
    const double size = norm(r.attention), product = std::pow(10, r.log10_excess + time);
    table.rows.push_back({time, size, r.log10_excess, product, kNorm * kNorm});
    finding.checks.push_back(
        at_least(fmt::format("|p| grows up to t = 10^{}", time), size - last, 1e-12));
    finding.checks.push_back(between(fmt::format("log10 (L - L*) is finite at t = 10^{}", time),
                                     r.log10_excess, -2 * time - 10, 0));
    last = size;
    if (time < 100) continue;
    finding.checks.push_back(
        near_relative(fmt::format("(L - L*) t at t = 10^{} against |p^mm|^2", time), product,
                      kNorm * kNorm, 1e-3));
    panel.series = {line("flow", report::kGreen),
                    line("|p^{mm}|^{2} / t", report::kInk, {0, time},
                         {2 * std::log10(kNorm), 2 * std::log10(kNorm) - time}, true)};
    for (const SelectMoment& m : r.series) add_point(panel.series[0], m.log10_time, m.log10_excess);
  }
  return panel;
}

Finding run(const Effort& effort) {
  Finding finding;
  Table proofs{
      .name = "proofs",
      .title = "Max-margin solutions proved optimal",
      .columns = {"proved", "squared_norm", "support_rows", "duality_gap", "error_of_doubles"},
      .label_column = "choice"};
  for (const Case& c : kCases) {
    prove(c, effort, finding, proofs);
    if (effort.context.stopped()) return {};
  }
  prove_multi(finding);
  Table flow{.name = "flow",
             .title = "No finite minimiser: L − L* and |p| along the flow",
             .columns = {"log10_t", "norm", "log10_excess", "excess_times_t", "theory"}};
  const report::Panel panel = no_minimiser(effort, finding, flow);
  if (flow.rows.size() < 5) return {};
  finding.answer.headline = fmt::format(
      "{} solutions are proved in rational arithmetic; along the flow the loss stays above its "
      "infimum by |p^{{mm}}|^{{2}} / t ({:.4f}, theory {:.4f}) while |p| passes {:.0f}.",
      proofs.rows.size() + 1, flow.rows.back()[3], kNorm * kNorm, std::floor(flow.rows.back()[1]));
  finding.answer.tables = {proofs, flow};
  finding.answer.draw = [=] {
    return std::vector<PageFigure>{figure_of("excess", {panel},
                                             "The loss above that of the best tokens, down to "
                                             "where no double could hold it: never zero.")};
  };
  return finding;
}

}  // namespace

Entry entry() {
  return {.id = "optimality-certificate",
          .title = "Optimal, and never reached",
          .source = "arXiv 2306.13596, optimality conditions",
          .shows =
              "A max-margin solution is a non-negative combination of tight key differences (KKT); "
              "the training loss has no finite minimiser: it stays above the loss of the best "
              "tokens, and |p| diverges.",
          .run = run};
}

}  // namespace attractor::papers::optimality_certificate
