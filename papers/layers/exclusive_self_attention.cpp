// Exclusive self-attention takes from what attention returns its component along the own value.
// With V = I that is the projection which normalisation makes anyway: lengths of tokens no longer
// grow, and Pre-LN is Post-LN. Where |A| is divided out tokens become one in finite depth. The
// closed systems of all schemes stand in reductions/equiangular_self.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attractor/reductions/equiangular_self.hpp"
#include "papers/entry.hpp"
#include "papers/flow_run.hpp"
#include "papers/pictures.hpp"
#include "papers/points.hpp"

namespace attractor::papers::exclusive_self_attention {
namespace {

constexpr double kTokens = 8, kBeta = 2;
constexpr SelfAttention kSelves[] = {SelfAttention::include, SelfAttention::remove_own_value,
                                     SelfAttention::exclude};

/// arccos(1/sqrt n): from here on orthogonal tokens are one under peri-norm.
double last_depth() { return std::acos(1 / std::sqrt(kTokens)); }

double end_of(Normalisation norm, SelfAttention self) {
  return scheme(norm).unit && self == SelfAttention::remove_own_value ? 1.2 : 10;
}

meanfield::EquiangularState closed(Normalisation norm, SelfAttention self, double time) {
  return meanfield::equiangular_at({.tokens = kTokens, .beta = kBeta, .norm = norm}, self, time);
}

/// Orthogonal tokens, as a flow of all pairs.
FlowSetup orthogonal(Normalisation norm, SelfAttention self) {
  FlowSetup p;
  p.norm = norm;
  p.self = self;
  p.init = Arrangement::equiangular;
  p.tokens = p.dim = static_cast<std::uint64_t>(kTokens);
  p.beta = kBeta;
  p.tolerance = 1e-12;
  p.merge_radius = 0;
  p.time = end_of(norm, self);
  p.outputs = 1;
  p.output_spacing = lab::Spacing::linear;
  return p;
}

/// Every scheme with and without the own value, and without the own token.
Table schemes_table(const Effort& effort, std::vector<Check>& checks) {
  Table table{.name = "schemes",
              .title = "Orthogonal tokens, n = 8, β = 2: 1 − cosine and length at depth t",
              .columns = {"t", "gap", "gap_closed", "length", "length_closed"},
              .label_column = "scheme and self"};
  for (const Scheme& row : schemes())
    for (const SelfAttention self : kSelves) {
      if (effort.context.stopped()) return table;
      const observe::Observation o = flow_of(orthogonal(row.id, self), effort).series.back();
      const meanfield::EquiangularState truth = closed(row.id, self, end_of(row.id, self));
      const std::string label = fmt::format("{}, {}", row.name, name(self));
      table.labels.push_back(label);
      table.rows.push_back(
          {end_of(row.id, self), o.one_minus_mean_cosine, truth.gap(), o.mean_norm, truth.norm()});
      checks.push_back(near(fmt::format("{}: 1 - cosine of tokens and closed system", label),
                            o.one_minus_mean_cosine, truth.gap(), 1e-9));
      checks.push_back(near_relative(fmt::format("{}: length of tokens and closed system", label),
                                     o.mean_norm, truth.norm(), 1e-9));
    }
  return table;
}

/// Any tokens with V = I: how far Pre-LN without the own value is from Post-LN with it.
double pre_from_post(std::uint64_t seed, const Effort& effort) {
  FlowSetup p;
  p.tokens = 24;
  p.dim = 5;
  p.beta = 3;
  p.seed = seed;
  p.time = 4;
  p.tolerance = 1e-12;
  p.merge_radius = 0;
  p.outputs = 1;
  p.snapshots = 2;
  const FlowRecord post = flow_of(p, effort);
  p.norm = Normalisation::pre;
  p.self = SelfAttention::remove_own_value;
  const FlowRecord pre = flow_of(p, effort);
  return largest_distance(post.snapshots.back().positions, pre.snapshots.back().positions, p.dim);
}

PageFigure figure() {
  report::Panel falls{
      .title = "Pre-LN and Post-LN",
      .x = {.label = "t", .low = 0, .high = 10},
      .y = {.label = "1 − cosine", .scale = report::Scale::log, .low = 1e-8, .high = 1}},
      ends{.title = "own value removed",
           .x = {.label = "t", .low = 0, .high = 3},
           .y = {.label = "1 − cosine", .low = 0, .high = 1}};
  struct Line {
    Normalisation norm;
    SelfAttention self;
    const char* title;
  };
  const Line lines[] = {
      {Normalisation::pre, SelfAttention::include, "pre"},
      {Normalisation::pre, SelfAttention::exclude, "pre, own token excluded"},
      {Normalisation::pre, SelfAttention::remove_own_value, "pre, own value removed"},
      {Normalisation::post, SelfAttention::include, "post"}};
  for (std::size_t k = 0; k < std::size(lines); ++k) {
    report::Series s = line(lines[k].title, report::kPalette[k], k == 2 ? 5 : 2.2, k == 3);
    for (double t = 0; t <= 10; t += 0.1)
      add_point(s, t, closed(lines[k].norm, lines[k].self, t).gap());
    falls.series.push_back(std::move(s));
  }
  for (const Normalisation norm : {Normalisation::post, Normalisation::peri}) {
    report::Series s = line(std::string(name(norm)), report::kPalette[ends.series.size()]);
    for (double t = 0; t <= 3; t += 0.03)
      add_point(s, t, closed(norm, SelfAttention::remove_own_value, t).gap());
    ends.series.push_back(std::move(s));
  }
  return two_columns("exclusive", {std::move(falls), std::move(ends)},
                     "Left: without the own value Pre-LN falls like Post-LN. Right: with peri-norm "
                     "tokens are one at depth arccos(1/√n).");
}

Finding run(const Effort& effort) {
  Finding finding;
  Table table = schemes_table(effort, finding.checks);
  double apart = 0;
  for (std::uint64_t seed = 1; seed <= (effort.quick ? 2 : 10); ++seed)
    apart = std::max(apart, pre_from_post(seed, effort));
  if (effort.context.stopped()) return finding;
  const auto pre = static_cast<std::size_t>(Normalisation::pre) * std::size(kSelves);
  const double with = table.rows[pre][1], without = table.rows[pre + 1][1];
  // Post-norm of the theory, 8 K(8, 2) e^{-2t}, good to its square.
  finding.checks.push_back(near_relative("pre, own value removed, t = 10: against 8 K e^{-20}",
                                         without, 8 * 3.734953426363 * std::exp(-20.0), 1e-6));
  finding.checks.push_back(near("pre, t = 10: to two digits", with, 4.8e-2, 0.05e-2));
  finding.checks.push_back(
      near("pre, own value removed, t = 10: to two digits", without, 6.2e-8, 0.05e-8));
  finding.checks.push_back(
      at_most("24 tokens of any position: pre without the own value from post", apart, 1e-9));
  finding.answer.headline = fmt::format(
      "Pre-LN, n = 8, β = 2, t = 10: 1−γ = {:.2e} with the own value, {:.2e} without: Post-LN. "
      "Under peri-norm tokens are one at depth {:.4f}.",
      with, without, last_depth());
  finding.answer.remarks.push_back(
      "Tokens that exclude themselves forget β as long as they are equiangular: all others are "
      "equally far.");
  finding.answer.draw = [] { return std::vector{figure()}; };
  finding.answer.tables.push_back(std::move(table));
  return finding;
}

}  // namespace

Entry entry() {
  return {.id = "exclusive-self-attention",
          .title = "Exclusive self-attention: Pre-LN becomes Post-LN",
          .source = "arXiv 2603.09078; 2510.22026",
          .shows =
              "Exclusive self-attention removes the component of attention along the own value. "
              "What that does to collapse under each normalisation is not in the papers: with V = "
              "I the schemes have closed systems.",
          .run = run};
}

}  // namespace attractor::papers::exclusive_self_attention
