// Gradient flow of diagonal K and Q prefers the nuclear margin of K Q^T, which is the l_1 margin of
// its diagonal, the more so the smaller it starts; the diagonal trained as it is prefers l_2.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "attractor/base/random.hpp"
#include "attractor/flow/run.hpp"
#include "attractor/training/descent_flow.hpp"
#include "attractor/training/diagonal_factors.hpp"
#include "attractor/training/margins/margin_approach.hpp"
#include "papers/entry.hpp"
#include "papers/pictures.hpp"

namespace attractor::papers::diagonal_factors {
namespace {

using training::MarginNorm;
using training::Objective;

constexpr std::size_t kInputs = 3, kTokens = 3, kDim = 8;
constexpr double kLogEnd = 200;                                       // ln t
constexpr std::array<double, 5> kLogStarts = {2, 0, -10, -50, -300};  // ln a, k = a and q = 0

/// Keys are x_it q_i entry by entry, so that p is the diagonal of W; scores 1 and 0 beside them.
training::Problem random_problem(std::uint64_t seed) {
  const Stream stream(seed, "papers.diagonal_factors");
  const std::size_t dim = kDim + 1;
  training::Problem p{.inputs = kInputs,
                      .tokens = kTokens,
                      .dim = dim,
                      .x = std::vector<double>(kInputs * kTokens * dim),
                      .labels = std::vector<double>(kInputs, 1.0),
                      .weights = std::vector<double>(dim * dim, 0.0),
                      .prompt = std::vector<double>(dim, 0.0)};
  std::vector<double> token(kDim), query(kDim);
  for (std::size_t i = 0; i < kInputs; ++i) {
    stream.normals(kInputs * kTokens + i, query);
    for (std::size_t t = 0; t < kTokens; ++t) {
      stream.normals(i * kTokens + t, token);
      double* row = &p.x[(i * kTokens + t) * dim];
      for (std::size_t a = 0; a < kDim; ++a) row[a] = token[a] * query[a];
      row[kDim] = t == 0 ? 1 : 0;
    }
  }
  p.head.v.assign(dim, 0.0);
  p.head.v[kDim] = 1;
  for (std::size_t a = 0; a < kDim; ++a) p.weights[a * dim + a] = 1;
  training::check(p);
  return p;
}

struct End {
  double l1 = 0, l2 = 0;  // shares of the best margins of both norms
  double gap = 0;         // of both
  double growth = 0;      // d|p|_1 / d ln t over the least l_1 norm
};

End end_of(const Objective& objective, const std::vector<double>& half,
           const std::vector<double>& p) {
  training::Evaluation e;
  objective.evaluate(p, e);
  End end;
  const MarginNorm sum{.power = 1}, euclid{.power = 2};
  const training::MaxMargin one = training::AttSvm(objective, sum).solve(e.chosen),
                            two = training::AttSvm(objective, euclid).solve(e.chosen);
  end.gap = std::max(one.relative_gap, two.relative_gap);
  end.l1 = training::margin_of(objective, e.chosen, p, sum) * one.norm;
  end.l2 = training::margin_of(objective, e.chosen, p, euclid) * two.norm;
  end.growth = (sum(p) - sum(half)) / (kLogEnd / 2) / one.norm;
  return end;
}

/// The weights of a flow at half of ln t and at the end.
template <class Flow>
End follow(const Objective& objective, Flow&& flow, const Effort& effort) {
  flow::Progress progress{.state = std::vector<double>(flow.space().dim(), 0.0)};
  flow::Hooks hooks;
  hooks.stop = effort.context.stop;
  std::vector<std::vector<double>> at;
  for (const double log_end : {kLogEnd / 2, kLogEnd}) {
    flow::run(flow, flow::dormand_prince(),
              {.end = flow::Time(1, log_end), .tolerance = 1e-9, .max_steps = 1'000'000}, progress,
              hooks);
    at.push_back(flow.weights(progress.state));
  }
  return end_of(objective, at[0], at[1]);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

template <class Field>
double median_of(const std::vector<End>& ends, Field field) {
  std::vector<double> values;
  for (const End& end : ends) values.push_back(end.*field);
  return median(std::move(values));
}

PageFigure draw(const std::array<std::vector<End>, kLogStarts.size()>& starts) {
  report::Panel panel{.x = {.label = "ln a, where the factors start"},
                      .y = {.label = "share of the best margin", .low = 0.5, .high = 1.01}};
  report::Series one = line("l_{1}, nuclear for K Q^{T}", report::kVermillion),
                 two = line("l_{2}", report::kBlue);
  for (std::size_t k = kLogStarts.size(); k-- > 0;) {
    add_point(one, kLogStarts[k], median_of(starts[k], &End::l1));
    add_point(two, kLogStarts[k], median_of(starts[k], &End::l2));
  }
  panel.series = {std::move(one), std::move(two)};
  return figure_of("shares", {std::move(panel)},
                   "Gradient flow of diagonal factors until t = e^{200}, medians over random "
                   "problems: from small starts they find the l_{1} margin.",
                   380);
}

Finding run(const Effort& effort) {
  const std::uint64_t seeds = effort.quick ? 10 : 100;
  std::array<std::vector<End>, kLogStarts.size()> starts;
  std::vector<End> direct;
  double gap = 0;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const training::Problem problem = random_problem(seed);
    const Objective objective(problem, training::Loss::logistic, {});
    direct.push_back(follow(objective, training::DescentFlow(objective, {}), effort));
    for (std::size_t k = 0; k < kLogStarts.size(); ++k)
      starts[k].push_back(
          follow(objective, training::DiagonalFactorFlow(objective, kLogStarts[k]), effort));
    if (effort.context.stopped()) return {};
    for (const auto& ends : starts) gap = std::max(gap, ends.back().gap);
    effort.context.tell(static_cast<double>(seed + 1) / static_cast<double>(seeds), "problems");
  }
  Table table{.name = "starts",
              .title = "Medians at t = e^200: shares of the best margins, and growth of |p|_1",
              .columns = {"ln_a", "share_l1", "share_l2", "growth_over_least_l1_norm"}};
  double rises = 0;
  for (std::size_t k = 0; k < kLogStarts.size(); ++k) {
    table.rows.push_back({kLogStarts[k], median_of(starts[k], &End::l1),
                          median_of(starts[k], &End::l2), median_of(starts[k], &End::growth)});
    if (k > 0 && table.rows[k][1] < table.rows[k - 1][1]) ++rises;
  }
  const double direct_l2 = median_of(direct, &End::l2), direct_l1 = median_of(direct, &End::l1);
  const std::vector<double>& smallest = table.rows.back();
  Finding finding;
  finding.checks = {
      at_most("largest duality gap", gap, 1e-9),
      at_least("diagonal trained as it is: median share of the l_2 margin", direct_l2, 0.99),
      at_least("factors from e^-300: median share of the l_1 margin", smallest[1], 0.99),
      at_most("factors from e^-300: median share of the l_2 margin less that of l_1",
              smallest[2] - smallest[1], 0),
      near("smaller starts with a smaller share of the l_1 margin", rises, 0, 0),
      near_relative("factors from e^-300: d|p|_1 / d ln t over the least l_1 norm", smallest[3], 1,
                    0.02)};
  finding.answer.headline = fmt::format(
      "Diagonal K and Q from e^{{−300}} reach {:.4f} of the best l_{{1}} margin, from e^{{2}} "
      "{:.3f}; the diagonal trained as it is reaches {:.4f} of the l_{{2}} margin and {:.3f} of "
      "the l_{{1}} one (medians of {} problems).",
      smallest[1], table.rows[0][1], direct_l2, direct_l1, seeds);
  finding.answer.tables.push_back(std::move(table));
  finding.answer.draw = [starts] { return std::vector<PageFigure>{draw(starts)}; };
  return finding;
}

}  // namespace

Entry entry() {
  return {.id = "diagonal-factors",
          .title = "Diagonal keys and queries find the nuclear margin",
          .source = "arXiv 2403.08699",
          .shows =
              "Gradient flow of diagonal K and Q implicitly minimises the nuclear norm of K Q^T "
              "under the margin constraints, while training the combined weights minimises the "
              "Frobenius norm.",
          .run = run};
}

}  // namespace attractor::papers::diagonal_factors
