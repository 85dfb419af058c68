// Which choices can be separated: random unit tokens, a random token for each input. With n (T - 1)
// <= d always; two tokens an input is Wendel's problem, with its exact probability.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attractor/base/numbers.hpp"
#include "attractor/base/random.hpp"
#include "attractor/space/space.hpp"
#include "papers/entry.hpp"
#include "papers/pictures.hpp"
#include "papers/select_run.hpp"

namespace attractor::papers::feasibility {
namespace {

struct Shape {
  std::uint64_t inputs, tokens, dim;
  double published;  // feasible ones of 20; negative: none recorded
};
constexpr Shape kShapes[] = {{3, 4, 10, 20}, {6, 8, 60, 20}, {6, 8, 20, 20},  {6, 8, 10, 12},
                             {6, 8, 8, 1},   {10, 5, 10, 5}, {20, 2, 10, -1}, {16, 2, 4, -1}};

/// 2^{1-n} sum_{k<d} C(n-1, k): n symmetric vectors in general position lie in a half-space.
double wendel(double n, double d) {
  double term = std::pow(2, 1 - n), sum = 0;
  for (double k = 0; k < d; ++k) {
    sum += term;
    term *= (n - 1 - k) / (k + 1);
  }
  return sum;
}

/// Probability that 20 trials of chance p give at least, or at most, so many; twice the smaller.
double chance(double count, double p) {
  double below = 0, above = 0, term = std::pow(1 - p, 20);
  for (double k = 0; k <= 20; ++k) {
    if (k <= count) below += term;
    if (k >= count) above += term;
    term *= (20 - k) / (k + 1) * p / (1 - p);
  }
  return std::min(1.0, 2 * std::min(below, above));
}

struct Count {
  double feasible = 0, best_feasible = 0, total = 0;
  double worst_gap = 0, worst_farkas = 0;
  double saturation = 0;  // largest |ln(1/s - 1) + 100| of a tight input beyond ln(T - 1)
};

/// At p = 100 p^mm the input with a tight token has 1/s - 1 between e^{-100} and (T-1) e^{-100}.
double saturation_error(const training::Objective& objective, const training::MaxMargin& svm) {
  std::vector<double> p = svm.solution;
  for (double& x : p) x *= 100;
  training::Evaluation e;
  objective.evaluate(p, e);
  const std::size_t tokens = objective.problem().tokens;
  double largest = 0;
  for (std::size_t i = 0; i < svm.chosen.size(); ++i) {
    double others = 0;
    for (std::size_t t = 0; t < tokens; ++t)
      if (t != svm.chosen[i]) others += e.weight[i * tokens + t];
    largest = std::max(largest, others / e.weight[i * tokens + svm.chosen[i]]);
  }
  const double above = std::log(largest) + 100, most = std::log(static_cast<double>(tokens - 1));
  return std::max({0.0, -above, above - most});
}

void look(const Shape& s, std::uint64_t seed, Count& count) {
  training::Problem problem = example_named(
      fmt::format("random,inputs={},tokens={},dim={},seed={}", s.inputs, s.tokens, s.dim, seed));
  problem.labels.assign(s.inputs, 1.0);
  const training::Objective objective(problem, training::Loss::logistic, {});
  const training::AttSvm svm(objective);
  const Stream stream(seed, "feasibility choices");
  std::vector<std::size_t> chosen;
  for (std::uint64_t i = 0; i < s.inputs; ++i) chosen.push_back(stream.below(s.tokens, i, 0));
  const training::MaxMargin found = svm.solve(chosen);
  count.total += 1;
  if (found.feasible()) {
    count.feasible += 1;
    count.worst_gap = std::max(count.worst_gap, found.relative_gap);
    count.saturation = std::max(count.saturation, saturation_error(objective, found));
  } else {
    count.worst_farkas = std::max(count.worst_farkas, found.farkas_residual);
  }
  count.best_feasible += svm.solve(training::best_tokens(objective)).feasible() ? 1 : 0;
}

std::string text(const Shape& s) {
  return fmt::format("n = {}, T = {}, d = {}", s.inputs, s.tokens, s.dim);
}

void add_checks(const Shape& s, const Count& c, std::vector<Check>& checks) {
  const double share = c.feasible / c.total;
  const double rows = static_cast<double>(s.inputs * (s.tokens - 1)),
               d = static_cast<double>(s.dim);
  // Four standard errors; never less than one count.
  const auto error = [&](double p, double n) {
    return std::sqrt(std::max(p * (1 - p), 1 / n) / n);
  };
  if (rows <= d)
    checks.push_back(between(text(s) + ": share feasible, n (T - 1) <= d", share, 1, 1));
  else if (s.tokens == 2)
    checks.push_back(near(text(s) + ": share feasible against Wendel's probability", share,
                          wendel(static_cast<double>(s.inputs), d), 4 * error(share, c.total)));
  if (s.published >= 0 && rows > d)
    checks.push_back(
        at_least(text(s) + fmt::format(": chance of a count as far off as {} of 20", s.published),
                 chance(s.published, (c.feasible + 0.5) / (c.total + 1)), 0.002));
  checks.push_back(
      between(text(s) + ": share of problems with labels +1 whose best tokens are feasible",
              c.best_feasible / c.total, 1, 1));
}

PageFigure draw(const Table& table) {
  report::Panel panel{.x = {.label = "constraints n (T − 1) over d", .low = 0},
                      .y = {.label = "share of choices feasible", .low = -0.05, .high = 1.05}};
  panel.series = {dots("ours", report::kBlue, 6), dots("recorded, of 20", report::kVermillion, 3),
                  dots("Wendel, T = 2", report::kInk, 3)};
  for (const std::vector<double>& row : table.rows)
    for (std::size_t k = 0; k < 3; ++k) add_point(panel.series[k], row[0], row[2 + k]);
  return figure_of("feasibility", {std::move(panel)},
                   "Share of random choices that some p separates, shape by shape.");
}

Finding run(const Effort& effort) {
  Finding finding;
  Table table{
      .name = "shapes",
      .title = "Random unit tokens, a random choice",
      .columns = {"constraints_over_d", "problems", "share_feasible", "published_share", "wendel"},
      .label_column = "shape"};
  Count worst;
  const std::uint64_t problems = effort.quick ? 200 : 4000;
  for (const Shape& s : kShapes) {
    Count c;
    for (std::uint64_t seed = 0; seed < problems; ++seed) {
      if (effort.context.stopped()) return {};
      look(s, seed, c);
    }
    const double ratio =
        static_cast<double>(s.inputs * (s.tokens - 1)) / static_cast<double>(s.dim);
    const double theory =
        s.tokens == 2 ? wendel(static_cast<double>(s.inputs), static_cast<double>(s.dim)) : kNan;
    table.labels.push_back(text(s));
    table.rows.push_back(
        {ratio, c.total, c.feasible / c.total, s.published >= 0 ? s.published / 20 : kNan, theory});
    add_checks(s, c, finding.checks);
    worst.worst_gap = std::max(worst.worst_gap, c.worst_gap);
    worst.worst_farkas = std::max(worst.worst_farkas, c.worst_farkas);
    worst.saturation = std::max(worst.saturation, c.saturation);
    effort.context.tell(static_cast<double>(table.rows.size()) / 8, text(s));
  }
  finding.checks.push_back(
      at_most("largest duality gap of a feasible choice", worst.worst_gap, 1e-12));
  finding.checks.push_back(
      at_most("largest residual of a proof that there is no solution", worst.worst_farkas, 1e-12));
  finding.checks.push_back(at_most(
      "ln of the weight off the choice at p = 100 p^mm: distance to [-100, -100 + ln(T - 1)]",
      worst.saturation, 1e-9));
  finding.answer.headline = fmt::format(
      "Feasible: {:.0f} % at n (T − 1) / d = 0.9, {:.0f} % at 4.2, {:.1f} % at 5.2; every choice "
      "comes with a duality gap below {:.0e} or a proof that there is none.",
      100 * table.rows[0][2], 100 * table.rows[3][2], 100 * table.rows[4][2],
      std::max(worst.worst_gap, 1e-16));
  finding.answer.tables = {table};
  finding.answer.draw = [=] { return std::vector<PageFigure>{draw(table)}; };
  return finding;
}

}  // namespace

Entry entry() {
  return {.id = "feasibility",
          .title = "Which token choices can be separated",
          .source = "arXiv 2306.13596, separability conditions",
          .shows =
              "Every choice is separable if n (T - 1) <= d; the best tokens are if all labels are "
              "+1; with more constraints random choices become infeasible (of 20: 20 up to 2.1 d, "
              "12 at 4.2 d, 1 at 5.25 d).",
          .run = run};
}

}  // namespace attractor::papers::feasibility
