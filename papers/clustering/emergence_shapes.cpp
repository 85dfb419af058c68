// Attention in R^d without normalisation, in coordinates that grow with the tokens: they gather on
// the boundary of a polytope (V = I), on at most three lines (simple top eigenvalue) or at a point
// (V = -I). n = 20, tokens first in [-5, 5]^d; as published (Euler, step 0.1, T = 5) and converged.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attractor/space/space.hpp"
#include "papers/clustering/euclidean_tokens.hpp"
#include "papers/entry.hpp"
#include "papers/pictures.hpp"
#include "papers/points.hpp"
#include "papers/token_walk.hpp"

namespace attractor::papers::emergence_shapes {
namespace {

using depth::Geometry;
using report::Panel;
using Tokens = std::vector<double>;

constexpr std::size_t kTokens = 20;
constexpr double kBox = 5;

struct Limits {
  Tokens start, published, early, late;  // Euler at T = 5; converged at T = 5 and 15
  double reached = 15;                   // the time of `late`
};

/// At most, how far tokens are from where they rest, once attention has selected single tokens,
/// after a time of 2 at most.
double still(std::size_t dim, double time) {
  return 2 * std::sqrt(static_cast<double>(dim)) * kBox * std::exp(-(time - 2));
}

/// Tokens of one line may tie for good as logits grow like e^{2t}: a token that both draw then
/// slides between them, too stiff to be followed to the end. Its line is known by then.
Limits rescaled(std::size_t dim, const std::vector<double>& value, std::uint64_t seed,
                const Effort& effort) {
  Walk walk{.architecture = plane(dim, Geometry::rescaled, 1, value),
            .tokens = box(kTokens, dim, kBox, seed),
            .times = {5, 15},
            .max_steps = 20'000};
  double reached = 0;
  const std::vector<Tokens> states = states_of(walk, effort, &reached);
  Limits limits{.start = walk.tokens, .early = states[0], .late = states[1], .reached = reached};
  walk.stepper = flow::Method::euler;
  walk.times = {5};
  limits.published = states_of(walk, effort).back();
  return limits;
}

/// The coordinates w z of all tokens.
Tokens along(const Tokens& tokens, const Tokens& w) {
  Tokens values;
  for (std::size_t i = 0; i < tokens.size() / w.size(); ++i)
    values.push_back(dot(row(tokens, w.size(), i), w));
  return values;
}

double as_number(std::size_t count) { return static_cast<double>(count); }

struct Shapes {
  Limits polytope, lines;
  Tokens point_start, point;
};

void add_polytopes(Finding& finding, Shapes& shapes, std::uint64_t seeds, const Effort& effort) {
  Table table{.name = "polytopes",
              .title = "V = I: limit points, and how far they are inside the hull",
              .columns = {"dim", "seed", "points_published", "points_5", "points_15",
                          "inside_start", "inside_published", "inside_15", "scheme_shift"}};
  double inside = 0, most = 0, start = HUGE_VAL, shift = 0;
  for (const std::size_t dim : {std::size_t{2}, std::size_t{3}})
    for (std::uint64_t seed = 1; seed <= seeds && !effort.context.stopped(); ++seed) {
      const Limits l = rescaled(dim, {}, seed, effort);
      double moved = 0;
      for (std::size_t i = 0; i < kTokens; ++i)
        moved = std::max(
            moved, std::sqrt(squared_distance(row(l.published, dim, i), row(l.early, dim, i))));
      inside = std::max(inside, excess(l.late, dim) / still(dim, 15));
      most = std::max(most, as_number(distinct(l.late, dim, 1e-4)));
      start = std::min(start, excess(l.start, dim));
      shift = std::max(shift, moved);
      table.rows.push_back(
          {as_number(dim), as_number(seed), as_number(distinct(l.published, dim, 0.05)),
           as_number(distinct(l.early, dim, 0.05)), as_number(distinct(l.late, dim, 1e-4)),
           excess(l.start, dim), excess(l.published, dim), excess(l.late, dim), moved});
      if (dim == 2 && seed == 1) shapes.polytope = l;
    }
  finding.checks.insert(
      finding.checks.end(),
      {at_most("V = I: distance from the boundary over e^{-13} of the box", inside, 1),
       at_most("V = I: number of limit points, most", most, kTokens / 2),
       at_least("V = I: the start is inside its hull by, least", start, 0.5)});
  finding.answer.tables.push_back(std::move(table));
  finding.answer.values["scheme_shift"] = number(shift);
}

void add_lines(Finding& finding, Shapes& shapes, std::uint64_t seeds, const Effort& effort) {
  struct Case {
    Tokens value, left;  // left V = left
  };
  const Case cases[] = {{{1, 0, 0, 0.2}, {1, 0}},
                        {{1, 0, 0, -0.5}, {1, 0}},
                        {{1, 0.3, 0, 0.2}, {1, 0.375}},
                        {{1, 0, 0, 0, 0.1, 0.4, 0, -0.4, 0.1}, {1, 0, 0}}};
  double values = 0, points = HUGE_VAL, sliding = 0, reached = 15;
  for (const Case& c : cases)
    for (std::uint64_t seed = 1; seed <= seeds && !effort.context.stopped(); ++seed) {
      const Limits l = rescaled(c.left.size(), c.value, seed, effort);
      const double radius = std::max(1e-4, norm(c.left) * still(c.left.size(), l.reached));
      values = std::max(values, as_number(distinct(along(l.late, c.left), 1, radius)));
      sliding += l.reached < 15 ? 1 : 0;
      reached = std::min(reached, l.reached);
      points = std::min(points, as_number(distinct(l.late, c.left.size(), 1e-4)));
      if (&c == &cases[0] && seed == 1) shapes.lines = l;
    }
  // At a time of 10 the tokens of a line agree to 0.005.
  finding.checks.insert(
      finding.checks.end(),
      {at_most("simple top eigenvalue: values of its coordinate, most", values, 3),
       at_least("simple top eigenvalue: different tokens on these lines, least", points, 7),
       at_least("simple top eigenvalue: time reached, least", reached, 10)});
  finding.answer.values["runs_with_sliding_tokens"] = number(sliding);
}

/// V = -I: near the origin the covariance obeys C' = -2 beta C^2: t mean|x|^2 -> d/2 at beta = 1.
void add_point(Finding& finding, Shapes& shapes, const Effort& effort) {
  for (const std::size_t dim : {std::size_t{2}, std::size_t{3}}) {
    Tokens minus(dim * dim, 0.0);
    for (std::size_t c = 0; c < dim; ++c) minus[c * dim + c] = -1;
    const Walk walk{.architecture = plane(dim, Geometry::euclidean, 1, minus),
                    .tokens = box(kTokens, dim, kBox, 1),
                    .times = {5, 1000}};
    const std::vector<Tokens> states = states_of(walk, effort);
    finding.checks.push_back(
        near_relative(fmt::format("V = -I, d = {}: t mean|x|^2 at t = 1000", dim),
                      1000 * dot(states[1], states[1]) / kTokens, as_number(dim) / 2, 5e-3));
    if (dim == 2) shapes.point_start = walk.tokens, shapes.point = states[0];
  }
}

/// n = 40, d = 80, T = 11: every token is a vertex, and attention selects single tokens.
void add_high_dimension(Finding& finding, const Effort& effort) {
  const std::size_t n = 40, dim = 80;
  const Walk walk{.architecture = plane(dim, Geometry::rescaled, 1),
                  .tokens = box(n, dim, 1, 1),
                  .times = {11},
                  .tolerance = 1e-7};
  const Tokens end = states_of(walk, effort).back();
  finding.checks.push_back(at_most("n = 40, d = 80, T = 11: distance from the boundary of the hull",
                                   excess(end, dim), 2 * std::sqrt(80.0) * std::exp(-9)));
  finding.answer.values["points_in_dimension_80"] = as_number(distinct(end, dim, 1e-3));
}

std::vector<PageFigure> figures(const Shapes& s) {
  const auto panel = [](const char* title, const Tokens& start, const Tokens& end, double reach) {
    return Panel{.title = title,
                 .x = {.label = "z_{1}", .low = -reach, .high = reach},
                 .y = {.label = "z_{2}", .low = -reach, .high = reach},
                 .series = {scatter("start", start, 2, report::kGrey, 3),
                            scatter("T = 5", end, 2, report::kVermillion, 5)},
                 .equal_scale = true};
  };
  return {picture("shapes", "Limit shapes by the spectrum of V",
                  {panel("V = I: a polytope", s.polytope.start, s.polytope.early, 5.5),
                   panel("V = diag(1, 0.2): lines", s.lines.start, s.lines.early, 5.5),
                   panel("V = −I: a point", s.point_start, s.point, 5.5)},
                  "Twenty tokens in the plane. In the rescaled coordinates they end at few points "
                  "on the boundary of their hull, on at most three parallel lines, or (here x "
                  "itself) at the origin.")};
}

Finding run(const Effort& effort) {
  Finding finding;
  Shapes shapes;
  const std::uint64_t seeds = effort.quick ? 3 : 20;
  add_polytopes(finding, shapes, seeds, effort);
  effort.context.tell(0.4, "polytopes");
  add_lines(finding, shapes, seeds, effort);
  effort.context.tell(0.8, "lines");
  if (effort.context.stopped()) return finding;
  add_point(finding, shapes, effort);
  add_high_dimension(finding, effort);
  finding.answer.headline = fmt::format(
      "V = I: at most {:.0f} limit points, all on the boundary of their hull; simple top "
      "eigenvalue: at most {:.0f} lines; V = −I: t·mean|x|^{{2}} = {:.4f} (d = 2, theory 1). The "
      "published Euler step 0.1 puts tokens off by up to {:.2g} at T = 5.",
      finding.checks[1].got, finding.checks[3].got, finding.checks[6].got,
      finding.answer.values["scheme_shift"].get<double>());
  finding.answer.draw = [shapes] { return figures(shapes); };
  return finding;
}

}  // namespace

Entry entry() {
  return {.id = "emergence-shapes",
          .title = "Limit shapes of attention without normalisation",
          .source = "arXiv 2305.05465",
          .shows =
              "In R^d (n = 20, d = 2 or 3, T = 5, step 0.1, tokens first in [-5, 5]^d) "
              "rescaled tokens converge to few points on the boundary of a polytope, to at "
              "most three hyperplanes, or to the origin, depending on the spectrum of V.",
          .run = run};
}

}  // namespace attractor::papers::emergence_shapes
