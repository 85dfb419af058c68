// Nonlinear heads: if weight on any other token costs to first order, the path of best weights
// still goes to the max-margin direction of the best token; if a mixture is better, it does not.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "attractor/base/numbers.hpp"
#include "attractor/training/margins/max_margin.hpp"
#include "attractor/training/margins/regularisation_path.hpp"
#include "papers/directions.hpp"
#include "papers/entry.hpp"
#include "papers/heads/values_and_keys.hpp"
#include "papers/pictures.hpp"

namespace attractor::papers::nonlinear_head {
namespace {

struct Case {
  const char* name;
  training::Problem problem;
  bool selects;  // one token alone is best of all mixtures
  std::vector<double> radii;
  double angle_at_20 = kNan, limit = kNan, accuracy = 0;  // reference; angle in the plane of keys
};

std::vector<Case> cases() {
  const auto wave = [](double a, double b) {
    const std::array<double, 4> tokens[] = {{a, b, .9, .4}, {.2, 1, -.3, .8}, {-.5, -.6, .1, -.7}};
    return values_and_keys(tokens, {.v = {1, .3},
                                    .activation = training::activation_named("tanh,sin"),
                                    .hidden = {1, 0, 0, 0, 0, 1, 0, 0}});
  };
  const std::array<double, 4> tokens[] = {{1, .2, .9, .1}, {.3, .9, -.4, .8}, {-.2, -.5, 0, -.9}};
  return {{"tanh(x) + 0.3 sin(y), selecting is best",
           wave(1, .8),
           true,
           {5, 10, 20, 50, 100, 200},
           0.3006023482885,
           0.260602,
           1e-9},
          {"v·x − 0.02 |x|^{2}",
           values_and_keys(tokens, {.v = {1, 0, 0, 0}, .penalty = 0.02}),
           true,
           {5, 10, 20, 50, 100, 200}},
          {"ReLU network of two units",
           values_and_keys(tokens, {.v = {1, -.3},
                                    .activation = training::activation_named("relu"),
                                    .hidden = {1, .3, 0, 0, -.5, 1, 0, 0},
                                    .bias = {.5, -.2}}),
           true,
           {5, 10, 20, 50, 100, 200}},
          // The valley is flat to 1e-13 of the loss, so the angle is known to 1e-3.
          {"tanh(x) + 0.3 sin(y), a mixture is best",
           wave(1.5, .2),
           false,
           {5, 10, 20},
           0.9441354577,
           kNan,
           1e-3}};
}

/// Is token `best` alone at least as good as every mixture on a grid of the simplex?
bool selecting_is_best(const training::Problem& p, std::size_t best) {
  constexpr int kGrid = 60;
  const double own = p.head.value(p.token(0, best), p.head.v);
  for (int i = 0; i <= kGrid; ++i)
    for (int j = 0; i + j <= kGrid; ++j) {
      const double s[] = {1.0 * i / kGrid, 1.0 * j / kGrid, 1.0 * (kGrid - i - j) / kGrid};
      std::vector<double> mixture(p.dim, 0.0);
      for (std::size_t t = 0; t < 3; ++t)
        for (std::size_t a = 0; a < p.dim; ++a) mixture[a] += s[t] * p.token(0, t)[a];
      if (p.head.value(mixture, p.head.v) > own + 1e-12) return false;
    }
  return true;
}

/// What weight moved from the chosen token to the best other one gains, per unit of weight.
double first_order_gain(const training::Objective& objective,
                        const std::vector<std::size_t>& chosen) {
  const std::vector<double> scores = training::first_order_scores(objective, chosen);
  double most = -HUGE_VAL;
  for (std::size_t t = 0; t < scores.size(); ++t)
    if (t != chosen[0]) most = std::max(most, scores[t] - scores[chosen[0]]);
  return most;
}

/// Follows one path; its angles to the max-margin solution of the best token.
report::Series follow(const Case& c, report::Colour colour, const Effort& effort, Finding& finding,
                      Table& table) {
  const training::Objective objective(c.problem, training::Loss::linear, {});
  const training::MaxMargin svm =
      training::AttSvm(objective).solve(training::best_tokens(objective));
  const double limit = angle(std::span(svm.solution).subspan(2));
  const auto path = training::regularisation_path(
      objective, {.radii = c.radii, .directions = {svm.solution}, .stop = effort.context.stop});
  report::Series series = line(c.name, colour, c.selects ? 2.2 : 1.6, !c.selects);
  const std::string name = c.name;
  for (const training::PathPoint& point : path) {
    const double at = angle(std::span(point.weights).subspan(2)), error = std::abs(at - limit);
    add_point(series, point.radius, error);
    table.labels.push_back(name);
    table.rows.push_back({point.radius, at, limit, error, point.loss});
    if (point.radius == 20 && std::isfinite(c.angle_at_20))
      finding.checks.push_back(near(name + ": angle at R = 20", at, c.angle_at_20, c.accuracy));
  }
  if (path.size() < c.radii.size()) return series;
  const double gain = first_order_gain(objective, svm.chosen);
  finding.checks.push_back(
      c.selects ? at_most(name + ": gain from weight on another token, first order", gain, 0)
                : at_least(name + ": gain from weight on another token, first order", gain, 0));
  if (std::isfinite(c.limit))
    finding.checks.push_back(
        near(name + ": angle of the max-margin solution", limit, c.limit, 1e-6));
  if (c.selects) {
    finding.checks.push_back(between(name + ": one token is best on a grid of mixtures",
                                     selecting_is_best(c.problem, svm.chosen[0]) ? 1 : 0, 1, 1));
    finding.checks.push_back(
        at_most(name + ": angle to the limit at R = 200", series.y.back(), 0.01));
    // 1 / R: from 50 to 200 by four, or faster where only one token is tight.
    finding.checks.push_back(
        at_least(name + ": angle at R = 50 over that at 200", series.y[3] / series.y[5], 3.5));
  } else {
    finding.checks.push_back(
        at_least(name + ": angle to the best token's direction at R = 20", series.y.back(), 0.1));
    finding.checks.push_back(
        at_least(name + ": it moves away from R = 5 to 20", series.y[2] - series.y[0], 0));
  }
  return series;
}

Finding run(const Effort& effort) {
  Finding finding;
  Table table{.name = "paths",
              .title = "Best weights of norm at most R",
              .columns = {"R", "angle", "max_margin_angle", "difference", "loss"},
              .label_column = "head"};
  report::Panel panel{
      .x = {.label = "radius R", .scale = report::Scale::log},
      .y = {.label = "angle to the max-margin direction", .scale = report::Scale::log}};
  std::size_t k = 0;
  for (const Case& c : cases()) {
    panel.series.push_back(follow(c, report::kPalette[k++], effort, finding, table));
    if (effort.context.stopped()) return {};
  }
  finding.answer.headline = fmt::format(
      "Three heads for which one token beats every mixture: {:.1e}, {:.1e} and {:.1e} rad from its "
      "max-margin direction at R = 200. Where a mixture is better the path stays {:.2f} rad away.",
      panel.series[0].y.back(), panel.series[1].y.back(), panel.series[2].y.back(),
      panel.series[3].y.back());
  finding.answer.tables = {table};
  finding.answer.draw = [=] {
    return std::vector<PageFigure>{
        figure_of("heads", {panel},
                  "One input of three tokens, loss −f. Solid: moving weight off the best token "
                  "costs; dashed: a mixture of two tokens is better than either.")};
  };
  return finding;
}

}  // namespace

Entry entry() {
  return {.id = "nonlinear-head",
          .title = "Nonlinear heads",
          .source = "arXiv 2306.13596, general heads",
          .shows =
              "With a head psi the regularisation path converges to the max-margin direction of a "
              "token if selecting it strictly beats mixing; otherwise it need not.",
          .run = run};
}

}  // namespace attractor::papers::nonlinear_head
