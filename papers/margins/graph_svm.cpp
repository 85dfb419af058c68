// Next-token prediction by gradient descent: W = ln(tau) W_svm + W_fin + rho, with the Graph-SVM
// solution, the finite part on the strongly connected components of the token-priority graph, and a
// constant. next_token_descent.hpp derives this, and the numbers to compare with.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "attractor/base/numbers.hpp"
#include "attractor/space/space.hpp"
#include "papers/directions.hpp"
#include "papers/entry.hpp"
#include "papers/margins/next_token_descent.hpp"
#include "papers/pictures.hpp"

namespace attractor::papers::graph_svm {
namespace {

/// Where the prediction has cosine 0.99 to W_svm; NaN if rho is not known entirely.
double log10_time_to_direction(const GraphSvm& t) {
  if (!t.complete) return kNan;
  const std::vector<double> constant = predicted(t, 1);
  const double along = dot(constant, t.svm.p) / t.svm.norm;
  const double across = std::sqrt(std::max(dot(constant, constant) - along * along, 0.0));
  const double slope = std::tan(std::acos(0.99));
  return (across / slope - along) / t.svm.norm / std::numbers::ln10;
}

Table table_of(const std::vector<Descent>& descents) {
  Table table{
      .name = "corpora",
      .title = "Gradient descent at its end, and theory",
      .columns = {"corpus", "cyclic_dimension", "rows", "svm_norm", "cosine", "theory_cosine",
                  "growth_cosine", "growth_norm", "finite_norm", "finite_error", "finite_fall",
                  "excess_times_time", "svm_norm_squared", "theory_log10_time_to_0.99"}};
  for (const Descent& d : descents) {
    const GraphSvm& t = d.theory;
    const std::vector<double> w = d.growth();
    table.rows.push_back(
        {static_cast<double>(table.rows.size()), static_cast<double>(t.cyclic.rank()),
         static_cast<double>(t.g.size() / t.svm.p.size()), t.svm.norm, cosine(d.last().w, t.svm.p),
         t.complete ? cosine(predicted(t, d.last().tau), t.svm.p) : kNan, cosine(w, t.svm.p),
         norm(w), norm(t.cyclic.point()), d.finite_error(d.last()),
         d.finite_error(d.decade_before()) / d.finite_error(d.last()),
         d.last().tau * d.last().excess, t.svm.norm * t.svm.norm, log10_time_to_direction(t)});
  }
  return table;
}

/// Theory holds up to powers of 1 / t; the power is small where other margins are little above 1.
std::vector<Check> checks_of(const std::vector<Descent>& descents, const Table& table) {
  const double share = 0.1;
  std::vector<Check> checks;
  double gap = 0, infeasible = 0;
  for (const Descent& d : descents) {
    gap = std::max(gap, d.theory.svm.relative_gap);
    infeasible += d.theory.every_edge == solve::MarginStatus::infeasible ? 1 : 0;
  }
  const double all = static_cast<double>(descents.size());
  checks.push_back(at_most("Graph-SVM: largest relative gap of its certificates", gap, 1e-12));
  checks.push_back(near("corpora whose edges no W can separate if cycles are not set apart",
                        infeasible, all, 0));
  checks.push_back(
      at_least("corpus 0: cosine of W to the Graph-SVM at the end", table.rows[0][4], 0.99));
  for (const std::vector<double>& row : table.rows) {
    const std::string corpus = fmt::format("corpus {}: ", row[0]);
    checks.push_back(
        at_least(corpus + "cosine of the last decade's growth to the Graph-SVM", row[6], 0.99));
    checks.push_back(near_relative(corpus + "growth for each unit of ln t against |W_svm|", row[7],
                                   row[3], share));
    checks.push_back(
        near_relative(corpus + "t (L - L*) against |W_svm|^2", row[11], row[12], share));
    checks.push_back(at_most(corpus + "finite part: relative error", row[9] / row[8], 0.01));
    checks.push_back(
        near(corpus + "finite part: power of 1 / t of its error", std::log10(row[10]), 1, 0.2));
    if (!std::isnan(row[5]))
      checks.push_back(near_relative(corpus + "1 - cosine at the end against theory", 1 - row[4],
                                     1 - row[5], share));
  }
  return checks;
}

report::Panel pairs_panel(const Descent& d) {
  report::Panel panel{.title = "Corpus 0: logit of label less that of another token",
                      .x = {.label = "step", .scale = report::Scale::log},
                      .y = {.label = "<r, W>"}};
  bool first[2] = {true, true};
  for (const Edge& e : d.theory.edges) {
    const std::vector<double> row = d.corpus.row(e.above, e.below, e.last);
    const std::string title = e.higher ? "another component" : "same component";
    report::Series s = line(std::exchange(first[e.higher], false) ? title : "",
                            e.higher ? report::kVermillion : report::kBlue);
    s.width = 1.4;
    for (const Descent::Look& look : d.looks) add_point(s, look.tau, dot(row, look.w));
    panel.series.push_back(std::move(s));
    if (e.higher) continue;
    const double limit = dot(row, d.theory.cyclic.point());
    panel.series.push_back(
        line("", report::kInk, {d.last().tau / 30, d.last().tau}, {limit, limit}, true));
  }
  return panel;
}

std::vector<PageFigure> draw(const std::vector<Descent>& descents) {
  report::Panel direction{
      .title = "Direction",
      .x = {.label = "step", .scale = report::Scale::log},
      .y = {.label = "1 - cosine to the Graph-SVM", .scale = report::Scale::log}};
  report::Panel finite{.title = "Finite part",
                       .x = {.label = "step", .scale = report::Scale::log},
                       .y = {.label = "|P_{S}W - W_{fin}|", .scale = report::Scale::log}};
  for (std::size_t k = 0; k < 4; ++k) {
    const Descent& d = descents[k];
    const report::Colour colour = report::kPalette[k];
    report::Series far = line(fmt::format("corpus {}", k), colour), error = far,
                   theory = line("", colour, 1.6, true);
    for (const Descent::Look& look : d.looks) {
      add_point(far, look.tau, 1 - cosine(look.w, d.theory.svm.p));
      add_point(error, look.tau, d.finite_error(look));
      if (look.tau > 300 && d.theory.complete)
        add_point(theory, look.tau, 1 - cosine(predicted(d.theory, look.tau), d.theory.svm.p));
    }
    direction.series.push_back(std::move(far));
    direction.series.push_back(std::move(theory));
    finite.series.push_back(std::move(error));
  }
  return {figure_of("graph", {pairs_panel(descents[0]), std::move(direction), std::move(finite)},
                    "Left: tokens of one strongly connected component keep finite differences "
                    "(dashed: Luce's model), others part like ln t. Middle: the direction, with "
                    "theory dashed where it has no free constant. Right: the finite part, 1 / t.")};
}

Finding run(const Effort& effort) {
  std::vector<Descent> descents;
  for (std::uint64_t seed = 0; seed < (effort.quick ? 4U : 8U); ++seed) {
    descents.push_back(descend(random_corpus(seed), effort.quick ? 5 : 6, effort));
    if (effort.context.stopped()) return {};
    effort.context.tell(static_cast<double>(seed + 1) / (effort.quick ? 4 : 8), "corpora");
  }
  Finding finding;
  const Table table = table_of(descents);
  finding.checks = checks_of(descents, table);
  finding.answer.headline = fmt::format(
      "W grows like ln t along the Graph-SVM solution (cosine of the growth {:.5f}, of W itself "
      "{:.4f}) and its part on the cycles of the priority graph comes to rest at the maximum of "
      "likelihood of Luce's choice model, to {:.1e} of {:.2f}.",
      table.rows[0][6], table.rows[0][4], table.rows[0][9], table.rows[0][8]);
  finding.answer.tables = {table};
  finding.answer.remarks = {
      "W itself turns as slowly as 1 / ln t: the last column says when its cosine passes 0.99."};
  finding.answer.draw = [descents] { return draw(descents); };
  return finding;
}

}  // namespace

Entry entry() {
  return {.id = "graph-svm",
          .title = "Next-token prediction: Graph-SVM and cycles",
          .source = "arXiv 2403.08081",
          .shows =
              "Gradient descent of one attention layer on next tokens: W is R times the solution "
              "of an SVM on the token-priority graph, plus a finite part on its strongly "
              "connected components. Corpora are drawn here; the paper gives no numbers.",
          .run = run};
}

}  // namespace attractor::papers::graph_svm
