// Where a mixture of two tokens is best attention does not select one: p = R direction + finite
// part. The direction leaves the two keys level, the finite part sets their shares.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "attractor/base/numbers.hpp"
#include "attractor/space/space.hpp"
#include "papers/entry.hpp"
#include "papers/heads/values_and_keys.hpp"
#include "papers/pictures.hpp"
#include "papers/select_run.hpp"

namespace attractor::papers::multi_token {
namespace {

constexpr double kPenalty = 0.15;
constexpr std::array<std::array<double, 4>, 3> kTokens = {
    {{1.6, 0.3, 1, 0.5}, {0.1, 1.2, 0.6, -0.8}, {-1, -0.8, -1, 0.2}}};

/// psi(o) = <v, o> - lambda |o|^2.
training::Problem problem() {
  return values_and_keys(kTokens, {.v = {1, 1.2, 0, 0}, .penalty = kPenalty});
}

struct Theory {
  double share = 0;                   // of token 0 in the best mixture of 0 and 1
  double gain = 0;                    // of weight on token 2, first order: negative
  std::array<double, 2> direction{};  // unit, level for keys 0 and 1, above key 2
  std::array<double, 2> across{};     // unit, along k_0 - k_1
  double lead = 0;                    // of keys 0 and 1 over key 2 along the direction
  double offset = 0;  // finite part along `across`: ln(share / (1 - share)) / |k_0 - k_1|
};

Theory theory() {
  const training::Problem p = problem();
  const auto a = p.token(0, 0), b = p.token(0, 1), c = p.token(0, 2);
  std::array<double, 4> d{}, o{}, away{};
  for (std::size_t k = 0; k < 4; ++k) d[k] = a[k] - b[k];
  Theory t;
  t.share = (dot(p.head.v, d) - 2 * kPenalty * dot(b, d)) / (2 * kPenalty * dot(d, d));
  for (std::size_t k = 0; k < 4; ++k) o[k] = b[k] + t.share * d[k], away[k] = c[k] - o[k];
  t.gain = dot(p.head.v, away) - 2 * kPenalty * dot(o, away);
  const double length = std::hypot(d[2], d[3]);
  t.across = {d[2] / length, d[3] / length};
  t.direction = {t.across[1], -t.across[0]};
  t.lead = t.direction[0] * (a[2] - c[2]) + t.direction[1] * (a[3] - c[3]);
  if (t.lead < 0) t.lead = -t.lead, t.direction = {-t.direction[0], -t.direction[1]};
  t.offset = std::log(t.share / (1 - t.share)) / length;
  return t;
}

double along(std::span<const double> p, const std::array<double, 2>& unit) {
  return p[2] * unit[0] + p[3] * unit[1];
}

SelectRecord descend(const Effort& effort) {
  SelectSetup p;
  p.loss = training::Loss::linear;
  p.optimizer = lab::Optimizer::gd;
  p.step = 1;
  p.steps = effort.quick ? 100'000 : 1'000'000;
  p.outputs = 400;
  return train(p, problem(), effort);
}

/// Several best tokens with one score: weight on them all together.
double relevant_weight(const Effort& effort, double* effective) {
  SelectSetup p;
  p.data.name = "example:multi-token,inputs=4,tokens=8,dim=40,relevant=0.25";
  p.loss = training::Loss::linear;
  p.steps = 400;
  const SelectRecord r = select(p, effort);
  const std::vector<double> scores = training::scores(r.problem);
  double least = 1;
  for (std::size_t i = 0; i < r.problem.inputs; ++i) {
    double sum = 0;
    for (std::size_t t = 0; t < r.problem.tokens; ++t)
      if (scores[i * r.problem.tokens + t] > 0.5) sum += r.softmax[i * r.problem.tokens + t];
    least = std::min(least, sum);
  }
  *effective = r.series.empty() ? kNan : r.series.back().effective_tokens;
  return least;
}

std::vector<PageFigure> draw(const SelectRecord& r, const Theory& t) {
  report::Panel weights{.x = {.label = "step", .scale = report::Scale::log},
                        .y = {.label = "softmax weight", .low = 0, .high = 1}};
  report::Panel parts{.x = {.label = "step", .scale = report::Scale::log},
                      .y = {.label = "part of p"}};
  const training::Objective objective(r.problem, training::Loss::linear, {});
  training::Evaluation e;
  for (std::size_t token = 0; token < 3; ++token)
    weights.series.push_back(line(fmt::format("token {}", token), report::kPalette[token]));
  report::Series grows = line("along the direction", report::kVermillion),
                 stays = line("across it", report::kBlue);
  const double last = r.series.back().steps, first = 1;
  for (std::size_t k = 0; k < r.series.size(); ++k) {
    const auto p = weights_of(r, k);
    if (r.series[k].steps < first) continue;
    objective.evaluate(p, e);
    for (std::size_t token = 0; token < 3; ++token)
      add_point(weights.series[token], r.series[k].steps, e.weight[token]);
    add_point(grows, r.series[k].steps, along(p, t.direction));
    add_point(stays, r.series[k].steps, along(p, t.across));
  }
  weights.series.push_back(
      line("best share of token 0", report::kInk, {first, last}, {t.share, t.share}, true));
  parts.series = {
      std::move(grows), std::move(stays),
      line("finite part, theory", report::kInk, {first, last}, {t.offset, t.offset}, true)};
  return {figure_of("mixture", {std::move(weights), std::move(parts)},
                    "Left: attention settles on two tokens, in fixed shares. Right: p grows "
                    "without bound along one direction and stays finite across it.")};
}

Table path_table(const std::vector<training::PathPoint>& path, const Theory& t) {
  Table table{.name = "path",
              .title = "Best weights of norm at most R",
              .columns = {"R", "along_direction", "across", "theory_across", "angle_to_direction"}};
  for (const training::PathPoint& point : path) {
    const double x = along(point.weights, t.direction), y = along(point.weights, t.across);
    table.rows.push_back({point.radius, x, y, t.offset, std::atan2(y, x)});
  }
  return table;
}

Finding run(const Effort& effort) {
  const Theory t = theory();
  const SelectRecord r = descend(effort);
  double effective = 0;
  const double together = relevant_weight(effort, &effective);
  const training::Problem p = problem();
  const training::Objective objective(p, training::Loss::linear, {});
  const auto path = training::regularisation_path(
      objective, {.radii = {2, 4, 8, 12}, .stop = effort.context.stop});
  Finding finding;
  if (effort.context.stopped() || path.size() < 4) return {};
  const Table table = path_table(path, t);
  const std::uint64_t end = static_cast<std::uint64_t>(r.series.back().steps);
  const auto late = weights_at(r, end), early = weights_at(r, end / 10);
  const double ratio = std::log(r.series.back().steps / moment_at(r, end / 10).steps);
  const double growth = (along(late, t.direction) - along(early, t.direction)) / ratio;
  // What is missing is of the order of the weight on token 2, 1 / t.
  const double rest = 10 / r.series.back().steps;
  finding.checks = {
      at_most("gain from weight on token 2 at the best mixture, first order", t.gain, 0),
      between("best share of token 0 is inside (0, 1)", t.share, 0.05, 0.95),
      near("descent: share of token 0 at the end", r.softmax[0], t.share, rest),
      near("descent: part of p across the direction at the end", along(late, t.across), t.offset,
           rest),
      near_relative("descent: d p / d ln t along the direction against 1 / lead", growth,
                    1 / t.lead, 10 * rest),
      at_most("descent: weight on token 2 at the end", r.softmax[2], rest),
      near("path: part across at R = 12", table.rows[3][2], t.offset, 1e-3),
      near_relative("path: angle at R = 4 over that at R = 12, 1 / R",
                    table.rows[1][4] / table.rows[3][4], 3, 0.1),
      at_least("several best tokens of equal score: least weight on them together", together,
               1 - 1e-6)};
  finding.answer.headline = fmt::format(
      "Attention settles on tokens 0 and 1 with shares {:.4f} and {:.4f} (best: {:.4f}); p grows "
      "like ln t / {:.3f} along the direction that leaves their keys level and stays at {:.3f} "
      "across it (theory {:.3f}).",
      r.softmax[0], r.softmax[1], t.share, t.lead, along(late, t.across), t.offset);
  finding.answer.values = {{"best_share", t.share},
                           {"effective_tokens_with_equal_scores", number(effective)}};
  finding.answer.tables = {table};
  finding.answer.remarks = {
      "One input with a penalised head. The same for next tokens, where cycles of labels make "
      "mixtures best (arXiv 2403.08081): attractor reproduce graph-svm."};
  finding.answer.draw = [=] { return draw(r, t); };
  return finding;
}

}  // namespace

Entry entry() {
  return {.id = "multi-token",
          .title = "When a mixture of tokens is best",
          .source = "arXiv 2308.16898, 2403.08081",
          .shows =
              "If mixing is optimal attention keeps several tokens: weights are R times a "
              "direction that cannot tell them apart plus a finite part that sets their shares.",
          .run = run};
}

}  // namespace attractor::papers::multi_token
