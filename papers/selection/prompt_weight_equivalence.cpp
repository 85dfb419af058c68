// Training W with a fixed query a is training the prompt: W(t) a is p(t), if steps are |a|^2 apart.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attractor/space/space.hpp"
#include "papers/directions.hpp"
#include "papers/entry.hpp"
#include "papers/pictures.hpp"
#include "papers/select_run.hpp"

namespace attractor::papers::prompt_weight_equivalence {
namespace {

const std::vector<double> kQuery = {0.7, -0.4, 1.1};
/// Over 5000 steps of the authors' recursion; ours may not be worse.
constexpr double kRecorded = 4.2e-15, kBound = 1e-12;
/// |p| after 1000 plain steps of 1 from 0 on the same problem (theory reference).
constexpr double kPlain[] = {4.6884377237, 0.45213511613};

std::vector<double> times(std::span<const double> matrix, std::span<const double> x) {
  std::vector<double> out(x.size());
  for (std::size_t a = 0; a < x.size(); ++a)
    out[a] = dot(matrix.subspan(a * x.size(), x.size()), x);
  return out;
}

SelectSetup parameters(double step, std::uint64_t steps) {
  SelectSetup p;
  p.optimizer = lab::Optimizer::gd;
  p.step = step;
  p.steps = steps;
  p.outputs = 400;
  return p;
}

/// Largest part of W(t) - W(0) that is not along a^T.
double off_rank_one(std::span<const double> now, std::span<const double> start) {
  double worst = 0;
  const double square = dot(kQuery, kQuery);
  for (std::size_t row = 0; row < 3; ++row) {
    double along = 0;
    for (std::size_t b = 0; b < 3; ++b)
      along += (now[row * 3 + b] - start[row * 3 + b]) * kQuery[b];
    for (std::size_t b = 0; b < 3; ++b)
      worst = std::max(
          worst, std::abs(now[row * 3 + b] - start[row * 3 + b] - along / square * kQuery[b]));
  }
  return worst;
}

std::vector<PageFigure> draw(const Table& table) {
  report::Panel norms{.x = {.label = "step", .scale = report::Scale::log},
                      .y = {.label = "norm", .low = 0}};
  report::Panel gap{.x = {.label = "step", .scale = report::Scale::log},
                    .y = {.label = "|W a − p| / |p|", .scale = report::Scale::log}};
  report::Series w = line("|W a|", report::kVermillion), p = line("|p|", report::kBlue, 1.6, true);
  report::Series off = line("", report::kPurple);
  for (const std::vector<double>& row : table.rows) {
    add_point(w, row[0], row[1]);
    add_point(p, row[0], row[2]);
    add_point(off, row[0], row[3]);
  }
  norms.series = {std::move(w), std::move(p)};
  gap.series = {std::move(off)};
  return {figure_of("equivalence", {std::move(norms), std::move(gap)},
                    "Both trainings step by step, and their difference: rounding.")};
}

Finding run(const Effort& effort) {
  const std::uint64_t steps = 5000;
  const double square = dot(kQuery, kQuery);
  training::Problem on_w = example_named("authors-like"), on_p = on_w;
  on_w.prompt = kQuery;
  on_p.prompt = times(on_w.weights, kQuery);
  on_p.weights.clear();  // identity: the keys are the tokens
  SelectSetup p = parameters(1 / square, steps), q = parameters(1, steps);
  p.train = training::Train::W;
  const SelectRecord w = train(p, on_w, effort), prompt = train(q, on_p, effort);
  const SelectRecord zero = train(parameters(1, 1000), example_named("authors-like"), effort);
  Finding finding;
  if (effort.context.stopped()) return {};
  Table table{.name = "steps",
              .title = "W a and p",
              .columns = {"step", "norm_of_W_a", "norm_of_p", "relative_difference"}};
  double worst = 0, off = 0;
  const std::span<const double> start = weights_of(w, 0);
  for (std::size_t k = 0; k < w.series.size(); ++k) {
    const auto at = weights_of(w, k), other = weights_of(prompt, k);
    const std::vector<double> image = times(at, kQuery);
    const double difference = apart(image, other) / norm(other);
    worst = std::max(worst, difference);
    off = std::max(off, off_rank_one(at, start));
    if (prompt.series[k].steps >= 1)
      table.rows.push_back({prompt.series[k].steps, norm(image), norm(other), difference});
  }
  table.only_data = true;
  finding.checks = {
      at_most("largest |W a - p| / |p| over 5000 steps", worst, kBound),
      at_most("largest entry of W(t) - W(0) off the query", off, 1e-12),
      at_most("distance of p(1000) from 0 to the reference", apart(zero.weights, kPlain), 1e-9),
      between("both select the same tokens", w.selected == prompt.selected ? 1 : 0, 1, 1),
      at_least("|p| grows over 5000 steps", norm(prompt.weights) - norm(on_p.prompt), 1)};
  finding.answer.headline = fmt::format(
      "Over 5000 steps W a and p differ by at most {:.1e} of |p| (recorded with the authors’ "
      "recursion: {:.1e}); W moves along the query only, to {:.1e}.",
      worst, kRecorded, off);
  finding.answer.values = {{"largest_relative_difference", worst}, {"off_query", off}};
  finding.answer.tables = {table};
  finding.answer.draw = [=] { return draw(table); };
  return finding;
}

}  // namespace

Entry entry() {
  return {.id = "prompt-weight-equivalence",
          .title = "Training W is training the prompt",
          .source = "arXiv 2306.13596, equivalence of p and W",
          .shows =
              "With one fixed query a, gradient descent on W with step eta / |a|^2 gives "
              "W(t) a = p(t) of gradient descent on the prompt with step eta.",
          .run = run};
}

}  // namespace attractor::papers::prompt_weight_equivalence
