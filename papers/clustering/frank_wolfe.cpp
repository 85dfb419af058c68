// A step of hardmax attention is a Frank-Wolfe step. For a positive form and k = 3 to 25 vertices
// tokens run straight to the vertex of their cell, x = v + (1 - alpha)^t (x_0 - v); for a negative
// one they collapse to a point near the origin, the nearer the smaller the step.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "attractor/base/random.hpp"
#include "attractor/space/space.hpp"
#include "papers/clustering/euclidean_tokens.hpp"
#include "papers/clustering/hardening_rate.hpp"
#include "papers/entry.hpp"
#include "papers/pictures.hpp"
#include "papers/points.hpp"
#include "papers/token_walk.hpp"

namespace attractor::papers::frank_wolfe {
namespace {

using Tokens = std::vector<double>;
using std::numbers::pi;

constexpr double kAlpha = 0.5;
constexpr std::size_t kSteps = 30, kInside = 60;

/// Vertices of equal length under diag(stretch^2, 1), then points inside their hull.
Tokens polygon(std::size_t vertices, double stretch) {
  Tokens x;
  for (std::size_t k = 0; k < vertices; ++k) {
    const double a = 2 * pi * (static_cast<double>(k) + 0.1) / static_cast<double>(vertices);
    x.insert(x.end(), {2 * std::cos(a) / stretch, 2 * std::sin(a)});
  }
  const Stream stream(vertices, "frank_wolfe");
  for (std::size_t i = 0; i < kInside; ++i) {
    double sum = 0, p = 0, q = 0;
    for (std::size_t k = 0; k < vertices; ++k) {
      const double weight = std::pow(-std::log(stream.uniform(i, k)), 3);
      sum += weight;
      p += weight * x[2 * k];
      q += weight * x[2 * k + 1];
    }
    x.insert(x.end(), {p / sum, q / sum});
  }
  return x;
}

Walk hardmax(const Tokens& tokens, double step) {
  Walk walk{.architecture = plane(2, depth::Geometry::attracted, 1),
            .tokens = tokens,
            .stepper = flow::Method::euler,
            .step = step};
  walk.architecture.layer.rule = Rule::hardmax;
  // A token that has almost reached its vertex must not tie with it.
  walk.architecture.layer.tie_tolerance = 0;
  return walk;
}

struct Cells {
  Tokens start, end;
  std::vector<std::size_t> cell;  // vertex of each inner token
  double error = 0;               // of the law, largest
};
Cells cells(std::size_t vertices, double stretch, const Effort& effort) {
  Cells c{.start = polygon(vertices, stretch)};
  Walk walk = hardmax(c.start, kAlpha);
  walk.architecture.layer.heads.front().query = {stretch * stretch, 0, 0, 1};
  walk.times = {kSteps * kAlpha};
  c.end = states_of(walk, effort).back();
  for (std::size_t i = 0; i < c.start.size() / 2; ++i) {
    const auto x = row(c.start, 2, i), y = row(c.end, 2, i);
    std::size_t best = 0;
    const auto inner = [&](std::size_t k) {
      return stretch * stretch * x[0] * c.start[2 * k] + x[1] * c.start[2 * k + 1];
    };
    for (std::size_t k = 1; k < vertices; ++k)
      if (inner(k) > inner(best)) best = k;
    c.cell.push_back(best);
    const auto v = row(c.start, 2, i < vertices ? i : best);
    const double left = std::pow(1 - kAlpha, kSteps);
    for (std::size_t a = 0; a < 2; ++a)
      c.error = std::max(c.error, std::abs(y[a] - v[a] - left * (x[a] - v[a])));
  }
  return c;
}

struct Collapse {
  double offset = 0, diameter = 0;
};

/// B = -I: where six tokens end, and how far apart.
Collapse collapse(double step, const Effort& effort) {
  Walk walk = hardmax({2, 0, -1.5, 1.2, -0.5, -1.8, 0.3, 0.2, 0.5, -0.4, -0.2, 0.6}, step);
  walk.architecture.layer.heads.front().key = {-1, 0, 0, -1};
  walk.times = {60};
  const Tokens end = states_of(walk, effort).back();
  Collapse c;
  double x = 0, y = 0;
  for (std::size_t i = 0; i < 6; ++i) {
    x += end[2 * i] / 6;
    y += end[2 * i + 1] / 6;
    for (std::size_t j = 0; j < i; ++j)
      c.diameter =
          std::max(c.diameter, std::sqrt(squared_distance(row(end, 2, i), row(end, 2, j))));
  }
  c.offset = std::hypot(x, y);
  return c;
}

std::vector<PageFigure> figures(const std::vector<Cells>& all) {
  std::vector<report::Panel> panels;
  for (const Cells& c : all) {
    const std::size_t vertices = c.start.size() / 2 - kInside;
    report::Series corners = dots("vertices", report::kInk, 5),
                   inner = dots("tokens", report::kBlue);
    report::Panel panel{.title = fmt::format("{} vertices", vertices),
                        .x = {.label = "x_{1}", .low = -2.4, .high = 2.4},
                        .y = {.label = "x_{2}", .low = -2.4, .high = 2.4},
                        .equal_scale = true};
    for (std::size_t i = 0; i < c.start.size() / 2; ++i) {
      const double x = c.start[2 * i], y = c.start[2 * i + 1];
      if (i < vertices) {
        add_point(corners, x, y);
        continue;
      }
      report::Series way = line("", report::kPalette[c.cell[i] % report::kPalette.size()], 0.9);
      add_point(way, x, y);
      add_point(way, c.start[2 * c.cell[i]], c.start[2 * c.cell[i] + 1]);
      panel.series.push_back(std::move(way));
      add_point(inner, x, y);
      inner.colours.push_back(report::kPalette[c.cell[i] % report::kPalette.size()]);
    }
    panel.series.insert(panel.series.end(), {inner, corners});
    panels.push_back(std::move(panel));
  }
  return {picture("cells", "Every token runs to the vertex of its cell", std::move(panels),
                  "Start of 60 tokens inside a polygon and the straight way each takes; colours "
                  "tell the cells apart. Vertices (black) never move.")};
}

Finding run(const Effort& effort) {
  Finding finding;
  Table law{.name = "polygons",
            .title = "B = diag(s^{2}, 1): distance from v + 2^{−30}(x_{0} − v) after 30 steps",
            .columns = {"vertices", "stretch", "largest_distance", "limit_points"}};
  double worst = 0, missing = 0;
  std::vector<Cells> drawn;
  for (const std::size_t k : {3U, 4U, 5U, 8U, 12U, 16U, 25U})
    for (const double stretch : {1.0, 1.7}) {
      Cells c = cells(k, stretch, effort);
      const double points = static_cast<double>(distinct(c.end, 2, 1e-6));
      law.rows.push_back({static_cast<double>(k), stretch, c.error, points});
      worst = std::max(worst, c.error);
      missing = std::max(missing, std::abs(points - static_cast<double>(k)));
      if (stretch == 1 && (k == 3 || k == 8 || k == 25)) drawn.push_back(std::move(c));
    }
  Table point{.name = "collapse",
              .title = "B = −I: six tokens at t = 60",
              .columns = {"step", "offset", "reference", "diameter"}};
  finding.checks = {at_most("distance from the law of a straight run, largest", worst, 1e-13),
                    at_most("limit points other than the vertices, most", missing, 0)};
  for (const auto& [step, offset] :
       {std::pair{0.3, 0.0302892}, {0.1, 0.000764035}, {0.03, 4.86635e-5}}) {
    const Collapse c = collapse(step, effort);
    point.rows.push_back({step, c.offset, offset, c.diameter});
    finding.checks.push_back(near_relative(fmt::format("B = -I, step {}: end off the origin", step),
                                           c.offset, offset, 2e-6));
    finding.checks.push_back(
        at_most(fmt::format("B = -I, step {}: diameter at t = 60", step), c.diameter, 1e-14));
  }
  if (effort.context.stopped()) return finding;
  const HardeningRate hard = hardening_rate(polygon(5, 1), 2, effort);
  finding.checks.push_back(
      near_relative("softmax approaches a Frank-Wolfe step like e^{-rate beta}: rate", hard.rate,
                    hard.gap, hard.allowance / hard.gap));
  finding.answer.headline = fmt::format(
      "For 3 to 25 vertices tokens follow v + (1−α)^{{t}}(x_{{0}}−v) within {:.0e}; for B = −I "
      "they meet {:.2g}, {:.2g}, {:.2g} off the origin with steps 0.3, 0.1, 0.03.",
      worst, point.rows[0][1], point.rows[1][1], point.rows[2][1]);
  finding.answer.tables = {std::move(law), std::move(point)};
  finding.answer.remarks.push_back(
      "For B = -I the paper says that tokens go to the origin; with a fixed step they meet near "
      "it, at a distance that vanishes with the step.");
  finding.answer.draw = [drawn] { return figures(drawn); };
  return finding;
}

}  // namespace

Entry entry() {
  return {.id = "frank-wolfe",
          .title = "Hardmax attention is Frank-Wolfe",
          .source = "arXiv 2508.09628",
          .shows =
              "The forward pass of hardmax attention is a Frank-Wolfe iteration: for a "
              "positive form tokens run straight to the vertex of their cell (k = 3 to 25 "
              "vertices), for a negative one they collapse geometrically to one point.",
          .run = run};
}

}  // namespace attractor::papers::frank_wolfe
