// The rank of what is learned: max-margin matrices of least Frobenius and of least nuclear norm for
// random problems, and of the trained W and K Q^T.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "attractor/space/space.hpp"
#include "papers/entry.hpp"
#include "papers/pictures.hpp"
#include "papers/select_run.hpp"

namespace attractor::papers::rank {
namespace {

training::Problem problem_of(std::uint64_t seed) {
  training::Problem p =
      example_named(fmt::format("random,inputs=6,tokens=8,dim=10,queries=unit,seed={}", seed));
  p.weights.assign(p.dim * p.dim, 0.0);
  for (std::size_t k = 0; k < p.dim * p.dim; ++k) {  // factors small and of full rank
    p.key_factor.push_back(0.1 * std::sin(static_cast<double>(1 + k)));
    p.query_factor.push_back(0.1 * std::cos(static_cast<double>(2 + k * k)));
  }
  return p;
}

/// (tr M)^2 / tr M^2 of M = W W^T: the number of equal singular values that would spread as much.
double effective_rank(std::span<const double> w, std::size_t d) {
  double trace = 0, square = 0;
  for (std::size_t a = 0; a < d; ++a)
    for (std::size_t b = 0; b < d; ++b) {
      const double m = dot(w.subspan(a * d, d), w.subspan(b * d, d));
      trace += a == b ? m : 0;
      square += m * m;
    }
  return trace * trace / square;
}

SelectRecord descend(training::Train kind, std::uint64_t seed, const Effort& effort) {
  SelectSetup p;
  p.train = kind;
  p.steps = 2000;
  p.outputs = 2;
  return train(p, problem_of(seed), effort);
}

/// d|W| / d ln t of the flow from 0, over the norm of the solution it selects.
double growth(std::uint64_t seed, const Effort& effort) {
  SelectSetup p;
  p.train = training::Train::W;
  p.optimizer = lab::Optimizer::flow;
  double norms[2] = {0, 0}, least = 1;
  for (std::size_t k : {std::size_t{0}, std::size_t{1}}) {
    p.log10_time = k == 0 ? 150 : 300;
    const SelectRecord r = train(p, problem_of(seed), effort);
    norms[k] = norm(r.attention), least = r.svm->norm;
  }
  return (norms[1] - norms[0]) / (150 * std::numbers::ln10) / least;
}

struct Solutions {
  Table table{.name = "problems",
              .title = "Solutions for the best tokens, n = 6, T = 8, d = 10",
              .columns = {"seed", "rank_frobenius", "rank_nuclear", "norm_frobenius",
                          "norm_nuclear", "gap_nuclear"}};
  std::array<double, 11> frobenius{}, nuclear{};  // problems by rank
  double gap = 0;
  double with_rank(const std::array<double, 11>& count, std::size_t low, std::size_t high) const {
    double sum = 0;
    for (std::size_t k = low; k <= high; ++k) sum += count[k];
    return sum / static_cast<double>(table.rows.size());
  }
};

Solutions solve_all(std::uint64_t problems, const Effort& effort) {
  Solutions all;
  for (std::uint64_t seed = 0; seed < problems && !effort.context.stopped(); ++seed) {
    const training::Problem p = problem_of(seed);
    const training::MaxMargin f = margin_of(p, training::Train::W),
                              n = margin_of(p, training::Train::KQ);
    all.table.rows.push_back({static_cast<double>(seed), static_cast<double>(f.rank),
                              static_cast<double>(n.rank), f.norm, n.norm, n.relative_gap});
    all.gap = std::max(all.gap, n.relative_gap);
    all.frobenius[f.rank] += 1;
    all.nuclear[n.rank] += 1;
    effort.context.tell(0.5 * static_cast<double>(seed) / static_cast<double>(problems),
                        "solutions");
  }
  all.table.only_data = problems > 20;
  return all;
}

Table train_some(std::uint64_t problems, const Effort& effort) {
  Table table{
      .name = "trained",
      .title = "Effective rank (tr W W^{T})^{2} / tr (W W^{T})^{2} after 2000 normalised steps",
      .columns = {"seed", "W", "frobenius_solution", "KQ", "nuclear_solution"}};
  for (std::uint64_t seed = 0; seed < problems && !effort.context.stopped(); ++seed) {
    const SelectRecord w = descend(training::Train::W, seed, effort),
                       f = descend(training::Train::KQ, seed, effort);
    table.rows.push_back({static_cast<double>(seed), effective_rank(w.attention, 10),
                          effective_rank(w.svm->solution, 10), effective_rank(f.attention, 10),
                          effective_rank(f.svm->solution, 10)});
  }
  return table;
}

PageFigure draw(const Solutions& all) {
  report::Panel panel{.x = {.label = "rank of the max-margin solution", .low = 0.4, .high = 7.6},
                      .y = {.label = "problems", .low = 0}};
  report::Series f{.title = "least Frobenius norm (W)", .mark = report::Mark::boxes}, n = f;
  n.title = "least nuclear norm (K Q^{T})", n.colour = report::kVermillion;
  for (std::size_t k = 1; k < 8; ++k) {
    const auto at = static_cast<double>(k);
    add_point(f, at, all.frobenius[k]);
    add_point(n, at, all.nuclear[k]);
  }
  panel.series = {std::move(f), std::move(n)};
  return figure_of("ranks", {std::move(panel)}, "How many problems have a solution of which rank.");
}

Finding run(const Effort& effort) {
  const Solutions all = solve_all(effort.quick ? 20 : 200, effort);
  const Table runs = train_some(effort.quick ? 3 : 20, effort);
  const double rate = growth(0, effort);
  if (effort.context.stopped()) return {};
  double lower = 0, worst = 0;
  for (const std::vector<double>& row : runs.rows) {
    lower += row[3] < row[1] ? 1 : 0;
    worst = std::max(worst, std::abs(row[1] / row[2] - 1));
  }
  const auto trained = static_cast<double>(runs.rows.size());
  const double six = all.with_rank(all.frobenius, 6, 6), low = all.with_rank(all.nuclear, 2, 4);
  Finding finding;
  finding.checks = {
      between("share of Frobenius solutions of rank min(n, d) = 6", six, 1, 1),
      at_least("chance that five of five nuclear solutions have rank 2 to 4, as recorded",
               std::pow(low, 5), 0.05),
      at_most("largest duality gap of a nuclear solution", all.gap, 1e-8),
      between("trained problems in which K Q^T has the lower effective rank", lower, trained,
              trained),
      at_most("largest relative difference of trained W's effective rank to its solution's", worst,
              0.1),
      near("flow of W: d|W| / d ln t over the least norm", rate, 1, 5e-3)};
  finding.answer.headline = fmt::format(
      "Of {} random problems {:.0f} % have a Frobenius solution of rank 6 = min(n, d) and {:.0f} % "
      "a nuclear one of rank 2 to 4.",
      all.table.rows.size(), 100 * six, 100 * low);
  finding.answer.tables = {runs, all.table};
  finding.answer.draw = [=] { return std::vector<PageFigure>{draw(all)}; };
  return finding;
}

}  // namespace

Entry entry() {
  return {.id = "rank",
          .title = "The rank of what is learned",
          .source = "arXiv 2308.16898",
          .shows =
              "The Frobenius max-margin matrix has rank min(n, d) = 6, the nuclear one 2 to 4; "
              "training through factors finds matrices of low rank.",
          .run = run};
}

}  // namespace attractor::papers::rank
