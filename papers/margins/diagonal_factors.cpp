// Gradient flow of diagonal K and Q goes to the nuclear margin of K Q^T, which is the l_1 margin of
// its diagonal; from large factors it passes by the l_2 margin, where the diagonal trained as it is
// stays.
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
constexpr std::array<double, 5> kLogTimes = {20, 100, 500, 2500, 12500};  // ln t
constexpr std::array<double, 3> kLogStarts = {2, 0, -3};                  // ln a, k = a and q = 0

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

/// before: |p|_1 at a time e^-elapsed times this one's.
End end_of(const Objective& objective, const std::vector<double>& p, double before,
           double elapsed) {
  training::Evaluation e;
  objective.evaluate(p, e);
  End end;
  const MarginNorm sum{.power = 1}, euclid{.power = 2};
  const training::MaxMargin one = training::AttSvm(objective, sum).solve(e.chosen),
                            two = training::AttSvm(objective, euclid).solve(e.chosen);
  end.gap = std::max(one.relative_gap, two.relative_gap);
  end.l1 = training::margin_of(objective, e.chosen, p, sum) * one.norm;
  end.l2 = training::margin_of(objective, e.chosen, p, euclid) * two.norm;
  end.growth = (sum(p) - before) / elapsed / one.norm;
  return end;
}

using Way = std::array<End, kLogTimes.size()>;

template <class Flow>
Way follow(const Objective& objective, Flow&& flow, const Effort& effort) {
  flow::Progress progress{.state = std::vector<double>(flow.space().dim(), 0.0)};
  flow::Hooks hooks;
  hooks.stop = effort.context.stop;
  Way way;
  double before = 0, time = 0;
  for (std::size_t k = 0; k < kLogTimes.size(); ++k) {
    flow::run(flow, flow::dormand_prince(),
              {.end = flow::Time(1, kLogTimes[k]), .tolerance = 1e-8, .max_steps = 1'000'000},
              progress, hooks);
    const std::vector<double> p = flow.weights(progress.state);
    way[k] = end_of(objective, p, before, kLogTimes[k] - time);
    before = MarginNorm{.power = 1}(p);
    time = kLogTimes[k];
  }
  return way;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double median_of(const std::vector<Way>& ways, std::size_t time, double End::*field) {
  std::vector<double> values;
  for (const Way& way : ways) values.push_back(way[time].*field);
  return median(std::move(values));
}

using Starts = std::array<std::vector<Way>, kLogStarts.size()>;

PageFigure draw(const Starts& starts) {
  std::vector<report::Panel> panels;
  for (std::size_t k = 0; k < kLogStarts.size(); ++k) {
    report::Panel panel{.title = fmt::format("k = e^{{{}}}, q = 0", kLogStarts[k]),
                        .x = {.label = "ln t", .scale = report::Scale::log},
                        .y = {.label = "share of the best margin", .low = 0.4, .high = 1.01}};
    report::Series one = line("l_{1}, nuclear for K Q^{T}", report::kVermillion),
                   two = line("l_{2}", report::kBlue);
    for (std::size_t t = 0; t < kLogTimes.size(); ++t) {
      add_point(one, kLogTimes[t], median_of(starts[k], t, &End::l1));
      add_point(two, kLogTimes[t], median_of(starts[k], t, &End::l2));
    }
    panel.series = {std::move(one), std::move(two)};
    panels.push_back(std::move(panel));
  }
  return figure_of("shares", std::move(panels),
                   "Gradient flow of diagonal factors, medians over random problems. Large factors "
                   "move like their product first, and pass by its l_{2} margin.");
}

void add_checks(const Starts& starts, const std::vector<Way>& direct, double gap,
                Finding& finding) {
  const std::size_t last = kLogTimes.size() - 1;
  const auto lead = [&](std::size_t time) {  // of l_1 over l_2, from the largest start
    return median_of(starts[0], time, &End::l1) - median_of(starts[0], time, &End::l2);
  };
  finding.checks = {
      at_most("largest duality gap", gap, 1e-9),
      at_least("diagonal trained as it is: median share of the l_2 margin",
               median_of(direct, last, &End::l2), 0.999),
      at_most("the same: median share of the l_1 margin", median_of(direct, last, &End::l1), 0.99),
      at_least("factors from k = 1: median share of the l_1 margin",
               median_of(starts[1], last, &End::l1), 0.99),
      at_most("factors from k = 1: median share of the l_2 margin",
              median_of(starts[1], last, &End::l2), 0.99),
      at_most("factors from k = e^2, ln t = 20: share of l_1 less that of l_2", lead(0), 0),
      at_least("factors from k = e^2, ln t = 12500: share of l_1 less that of l_2", lead(last), 0),
      near_relative("factors from k = 1: d|p|_1 / d ln t over the least l_1 norm",
                    median_of(starts[1], last, &End::growth), 1, 0.02)};
}

Finding run(const Effort& effort) {
  const std::uint64_t seeds = effort.quick ? 6 : 60;
  Starts starts;
  std::vector<Way> direct;
  double gap = 0;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const training::Problem problem = random_problem(seed);
    const Objective objective(problem, training::Loss::logistic, {});
    direct.push_back(follow(objective, training::DescentFlow(objective, {}), effort));
    for (std::size_t k = 0; k < kLogStarts.size(); ++k)
      starts[k].push_back(
          follow(objective, training::DiagonalFactorFlow(objective, kLogStarts[k]), effort));
    if (effort.context.stopped()) return {};
    for (const auto& ways : starts) gap = std::max(gap, ways.back().back().gap);
    effort.context.tell(static_cast<double>(seed + 1) / static_cast<double>(seeds), "problems");
  }
  Table table{.name = "times",
              .title = "Medians of the shares of the best margins, and growth of |p|_1",
              .columns = {"ln_a", "ln_t", "share_l1", "share_l2", "growth_over_least_l1_norm"}};
  for (std::size_t k = 0; k < kLogStarts.size(); ++k)
    for (std::size_t t = 0; t < kLogTimes.size(); ++t)
      table.rows.push_back({kLogStarts[k], kLogTimes[t], median_of(starts[k], t, &End::l1),
                            median_of(starts[k], t, &End::l2),
                            median_of(starts[k], t, &End::growth)});
  Finding finding;
  add_checks(starts, direct, gap, finding);
  const std::size_t last = kLogTimes.size() - 1;
  finding.answer.headline = fmt::format(
      "Diagonal K and Q reach {:.4f} of the best l_{{1}} (nuclear) margin at t = e^{{12500}}, the "
      "diagonal trained as it is {:.4f} of the l_{{2}} margin and {:.3f} of the l_{{1}} one; from "
      "k = e^{{2}} factors have {:.3f} of the l_{{2}} margin at t = e^{{20}} and {:.3f} of the "
      "l_{{1}} margin in the end (medians of {} problems).",
      median_of(starts[1], last, &End::l1), median_of(direct, last, &End::l2),
      median_of(direct, last, &End::l1), median_of(starts[0], 0, &End::l2),
      median_of(starts[0], last, &End::l1), seeds);
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
