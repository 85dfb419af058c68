// Hardmax attention in the plane: every token moves a fixed share of the way to the token it
// selects, argmax_j <x_i, x_j>. Leaders select themselves and stay; all others end at the boundary
// of the leaders' hull. alpha = 0.5, 30 steps.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attractor/space/space.hpp"
#include "papers/clustering/euclidean_tokens.hpp"
#include "papers/clustering/hardening_rate.hpp"
#include "papers/entry.hpp"
#include "papers/pictures.hpp"
#include "papers/points.hpp"
#include "papers/token_walk.hpp"

namespace attractor::papers::hardmax_cells {
namespace {

using Tokens = std::vector<double>;

constexpr std::size_t kTokens = 40, kSteps = 30;
constexpr double kAlpha = 0.5;

std::size_t choice(const Tokens& x, std::size_t i) {
  std::size_t best = 0;
  for (std::size_t j = 1; j < x.size() / 2; ++j)
    if (dot(row(x, 2, i), row(x, 2, j)) > dot(row(x, 2, i), row(x, 2, best))) best = j;
  return best;
}

std::vector<std::size_t> leaders_of(const Tokens& x) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < x.size() / 2; ++i)
    if (choice(x, i) == i) found.push_back(i);
  return found;
}

/// Tokens after 1, ..., 30 steps of this length.
std::vector<Tokens> steps_of(const Tokens& start, double step, const Effort& effort) {
  Walk walk{.architecture = plane(2, depth::Geometry::attracted, 1),
            .tokens = start,
            .stepper = flow::Method::euler,
            .step = step};
  walk.architecture.layer.rule = Rule::hardmax;
  for (std::size_t k = 1; k <= kSteps; ++k) walk.times.push_back(static_cast<double>(k) * step);
  return states_of(walk, effort);
}

/// How far the leaders have moved, most.
double leader_way(const Tokens& start, const Tokens& end, const std::vector<std::size_t>& leaders) {
  double largest = 0;
  for (const std::size_t i : leaders)
    largest = std::max(largest, std::sqrt(squared_distance(row(start, 2, i), row(end, 2, i))));
  return largest;
}

std::vector<PageFigure> figures(const Tokens& start, const std::vector<Tokens>& states) {
  const std::vector<std::size_t> leaders = leaders_of(start);
  std::vector<report::Panel> panels;
  for (const std::size_t k : {std::size_t{0}, std::size_t{4}, kSteps}) {
    const Tokens& x = k == 0 ? start : states[k - 1];
    report::Series heads = dots("leaders", report::kVermillion, 6);
    for (const std::size_t i : leaders) add_point(heads, x[2 * i], x[2 * i + 1]);
    report::Panel panel{.title = fmt::format("{} steps", k),
                        .x = {.label = "x_{1}", .low = -5.8, .high = 5.8},
                        .y = {.label = "x_{2}", .low = -5.8, .high = 5.8},
                        .series = {heads, scatter("tokens", x, 2, report::kBlue, 2.6)},
                        .equal_scale = true};
    for (std::size_t i = 0; i < kTokens && k < kSteps; ++i) {
      report::Series way = line("", report::kGrey, 0.8);
      const std::size_t j = choice(x, i);
      add_point(way, x[2 * i], x[2 * i + 1]);
      add_point(way, x[2 * j], x[2 * j + 1]);
      panel.series.insert(panel.series.begin(), std::move(way));
    }
    panels.push_back(std::move(panel));
  }
  return {picture("cells", "Hardmax attention: cells and leaders", std::move(panels),
                  "Grey lines: whom a token selects. Leaders select themselves and never move; "
                  "the others gather at leaders and on the boundary of their hull.")};
}

Finding run(const Effort& effort) {
  const std::uint64_t seeds = effort.quick ? 10 : 100;
  Finding finding;
  Table table{.name = "starts",
              .title = "40 tokens in [−5, 5]^{2}, 30 steps",
              .columns = {"seed", "leaders", "limit_points", "limit_points_half", "leaders_moved",
                          "inside_start", "inside_end"}};
  double moved = 0, inside = 0, points = 0, leaders_lost = 0, start_inside = HUGE_VAL;
  Tokens first;
  std::vector<Tokens> film;
  for (std::uint64_t seed = 1; seed <= seeds && !effort.context.stopped(); ++seed) {
    const Tokens start = box(kTokens, 2, 5, seed);
    const std::vector<Tokens> states = steps_of(start, kAlpha / (1 + kAlpha), effort);
    const Tokens half = steps_of(start, kAlpha, effort).back();
    const std::vector<std::size_t> leaders = leaders_of(start);
    const double count = static_cast<double>(leaders.size()),
                 limits = static_cast<double>(distinct(states.back(), 2, 0.01));
    moved = std::max(
        {moved, leader_way(start, states.back(), leaders), leader_way(start, half, leaders)});
    inside = std::max(inside, excess(states.back(), 2));
    start_inside = std::min(start_inside, excess(start, 2));
    points = std::max(points, limits);
    leaders_lost = std::max(leaders_lost, count - limits);
    table.rows.push_back(
        {static_cast<double>(seed), count, limits, static_cast<double>(distinct(half, 2, 0.01)),
         leader_way(start, states.back(), leaders), excess(start, 2), excess(states.back(), 2)});
    if (seed == 1) first = start, film = states;
  }
  if (effort.context.stopped()) return finding;
  const HardeningRate hard = hardening_rate(box(kTokens, 2, 1, 1), 2, effort);
  finding.checks = {
      at_most("way of leaders in 30 steps, largest", moved, 1e-13),
      // Twenty steps after the last change of a choice, (2/3)^20 of the diagonal is left.
      at_most("distance inside the hull after 30 steps, largest", inside,
              std::pow(2.0 / 3, 20) * 10 * std::sqrt(2.0)),
      at_least("the same at the start, least", start_inside, 0.5),
      at_most("limit points, most", points, kTokens / 2),
      at_most("leaders without a limit point, most", leaders_lost, 0),
      near_relative("softmax approaches a step of hardmax like e^{-rate beta}: rate", hard.rate,
                    hard.gap, hard.allowance / hard.gap)};
  finding.answer.headline = fmt::format(
      "Leaders stay, all others reach the boundary of the hull: at most {:.0f} of 40 places are "
      "left after 30 steps, none more than {:.1e} inside. Softmax follows with an error "
      "e^{{−{:.4f} β}} (gap of the logits {:.4f}).",
      points, inside, hard.rate, hard.gap);
  finding.answer.tables.push_back(std::move(table));
  finding.answer.remarks.push_back(
      "alpha = 0.5 is the residual strength: a step goes alpha/(1+alpha) = 1/3 of the way. The "
      "column \"limit points half\" has steps of 1/2.");
  finding.answer.draw = [first, film] { return figures(first, film); };
  return finding;
}

}  // namespace

Entry entry() {
  return {.id = "hardmax-cells",
          .title = "Hardmax attention: cells and leaders",
          .source = "arXiv 2407.01602",
          .shows =
              "Under hardmax attention in the plane (alpha = 0.5, 30 steps) tokens converge "
              "to a clustered equilibrium: leaders never move and the others gather at them "
              "or on the boundary of their hull.",
          .run = run};
}

}  // namespace attractor::papers::hardmax_cells
