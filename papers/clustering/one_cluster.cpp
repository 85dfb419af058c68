// For d >= 3 and beta >= 0 almost every start ends in one cluster. Two halves of one statement:
// random starts run to complete collapse, however long it takes (clusters live e^{c beta}: tokens
// that have met are moved as one), and every other critical point has a way out
// (stability/escape.hpp), which the flow itself takes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "attractor/base/numbers.hpp"
#include "attractor/base/random.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/depth/attention_flow.hpp"
#include "attractor/depth/velocity.hpp"
#include "attractor/flow/run.hpp"
#include "attractor/stability/escape.hpp"
#include "attractor/tokens/generators.hpp"
#include "papers/entry.hpp"
#include "papers/pictures.hpp"

namespace attractor::papers::one_cluster {
namespace {

constexpr double kTolerance = 1e-3;
constexpr std::uint64_t kMostSteps = 200'000;

struct Start {
  Rule rule;
  double beta;
  std::size_t tokens, dim;
};

Start start_of(std::uint64_t number) {
  const Stream stream(0, "one cluster");
  return {.rule = number % 2 == 0 ? Rule::softmax : Rule::unnormalised,
          .beta = 50 * stream.uniform(number, 0),
          // Few and many alike: 2 to 64, even in the logarithm.
          .tokens = static_cast<std::size_t>(std::exp2(1 + 5.02 * stream.uniform(number, 1))),
          .dim = 3 + stream.below(14, number, 2)};
}

struct End {
  bool collapsed = false;
  double log_time = 0, steps = 0;
};

End end_of(std::uint64_t number, const Effort& effort) {
  const Start s = start_of(number);
  flow::Progress progress{.state =
                              make_tokens({.tokens = s.tokens, .dim = s.dim, .seed = number}).data};
  // The error of moving tokens as one, (1 + beta) radius^2, is the tolerance.
  depth::AttentionFlow tokens({.rule = s.rule, .beta = s.beta, .dim = s.dim}, s.tokens,
                              std::sqrt(kTolerance / (1 + s.beta)));
  const flow::Status status =
      flow::run(tokens, flow::dormand_prince(), {.tolerance = kTolerance, .max_steps = kMostSteps},
                progress, {.stop = [&] { return effort.context.stopped(); }});
  return {status == flow::Status::collapsed, progress.time.log(),
          static_cast<double>(progress.steps)};
}

std::vector<End> ends(std::size_t starts, const Effort& effort) {
  std::vector<End> all(starts);
  parallel_for(starts, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end && !effort.context.stopped(); ++k)
      all[k] = end_of(k, effort);
  });
  return all;
}

// ---- Critical points.

struct Critical {
  std::string name;
  std::size_t dim;
  std::vector<double> tokens{}, masses{};
};

Critical polygon(std::size_t k, std::size_t dim) {
  Critical c{fmt::format("{}-gon on a great circle", k), dim, std::vector<double>(k * dim)};
  for (std::size_t i = 0; i < k; ++i) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(k);
    c.tokens[i * dim] = std::cos(angle);
    c.tokens[i * dim + 1] = std::sin(angle);
  }
  return c;
}

/// Two polygons on orthogonal circles of R^4.
Critical polygons(std::size_t k, std::size_t l) {
  Critical c = polygon(k, 4);
  c.name = fmt::format("{}-gon and {}-gon on orthogonal circles", k, l);
  const std::vector<double> other = polygon(l, 4).tokens;
  for (std::size_t i = 0; i < l; ++i)
    c.tokens.insert(c.tokens.end(), {0, 0, other[4 * i], other[4 * i + 1]});
  return c;
}

/// Both ends of orthogonal axes; each axis has its mass.
Critical cross(std::size_t dim, std::vector<double> axes) {
  Critical c{fmt::format("both ends of {} orthogonal axes", axes.size()), dim,
             std::vector<double>(2 * axes.size() * dim)};
  for (std::size_t i = 0; i < 2 * axes.size(); ++i) {
    c.tokens[i * dim + i / 2] = i % 2 == 0 ? 1 : -1;
    c.masses.push_back(axes[i / 2]);
  }
  return c;
}

Critical cube() {
  Critical c{"cube", 3};
  for (int i = 0; i < 8; ++i)
    for (int axis = 0; axis < 3; ++axis)
      c.tokens.push_back((i >> axis & 1 ? 1 : -1) / std::sqrt(3.0));
  return c;
}

Critical icosahedron() {
  Critical c{"icosahedron", 3};
  const double long_side = std::numbers::phi / std::sqrt(1 + std::numbers::phi * std::numbers::phi),
               short_side = long_side / std::numbers::phi;
  for (int i = 0; i < 12; ++i) {
    double x[3] = {0, i & 1 ? short_side : -short_side, i & 2 ? long_side : -long_side};
    std::rotate(x, x + i / 4, x + 3);
    c.tokens.insert(c.tokens.end(), x, x + 3);
  }
  return c;
}

std::vector<Critical> critical_points() {
  std::vector<Critical> all;
  for (const std::size_t k : {2U, 3U, 4U, 5U, 6U, 8U, 12U}) all.push_back(polygon(k, 3));
  for (const std::size_t k : {2U, 5U}) all.push_back(polygon(k, 6));
  all.push_back(polygon(2, 3));
  all.back().masses = {1, 3};
  all.back().name += ", masses 1 and 3";
  for (const std::size_t k : {3U, 4U, 6U}) all.push_back(cross(k, std::vector<double>(k, 1)));
  all.push_back(cross(3, {1, 2, 5}));
  all.back().name += ", masses 1, 2, 5";
  all.push_back(cross(5, {1, 1, 1}));
  for (const std::size_t d : {3U, 5U, 8U})
    all.push_back({"simplex", d, equiangular(d + 1, d, -1 / static_cast<double>(d)).data});
  all.push_back(cube());
  all.push_back(icosahedron());
  all.push_back(polygons(3, 3));
  all.push_back(polygons(4, 5));
  return all;
}

/// How fast unnormalised attention moves tokens on along the escape direction, over the rate; by
/// central differences of its velocities.
double growth(const Critical& c, const meanfield::Escape& e, double beta) {
  constexpr double kNudge = 1e-5;
  std::vector<double> velocities[2];
  for (const int side : {0, 1}) {
    std::vector<double> moved = c.tokens;
    for (std::size_t i = 0; i < moved.size(); i += c.dim) {
      double square = 0;
      for (std::size_t k = i; k < i + c.dim; ++k) {
        moved[k] += (side == 0 ? kNudge : -kNudge) * e.direction[k];
        square += moved[k] * moved[k];
      }
      for (std::size_t k = i; k < i + c.dim; ++k) moved[k] /= std::sqrt(square);
    }
    velocities[side].resize(moved.size());
    depth::velocity(
        {.attention = {.rule = Rule::unnormalised, .beta = beta, .dim = c.dim}, .log_unit = -beta},
        moved, c.masses, velocities[side]);
  }
  double along = 0, length = 0;
  for (std::size_t k = 0; k < c.tokens.size(); ++k) {
    along += (velocities[0][k] - velocities[1][k]) / (2 * kNudge) * e.direction[k];
    length += e.direction[k] * e.direction[k];
  }
  return along / length / e.rate.value;
}

Table ways_out(std::vector<Check>& checks) {
  Table table{.name = "escape",
              .title = "Critical points that are no cluster: growth per e^{−β} of time",
              .columns = {"dim", "tokens", "beta", "rate", "rate_error", "frame_bound",
                          "frame_error", "flow/rate"},
              .label_column = "point"};
  double fixed = 0, rate = HUGE_VAL, frame = HUGE_VAL, crossed = 0, off = 0;
  for (const Critical& c : critical_points())
    for (const double beta : {0.5, 2.0, 10.0, 50.0}) {
      const meanfield::Escape e = meanfield::escape(c.tokens, c.dim, c.masses, beta);
      // Where rates are no smaller than what a nudge of 1e-5 leaves in rounding.
      const double moved = beta > 2 ? kNan : growth(c, e, beta);
      fixed = std::max(fixed, e.force);
      rate = std::min(rate, e.rate.least() / e.rate.value);
      frame = std::min(frame, e.frame.least() / e.frame.value);
      crossed = std::max(crossed, e.frame.least() / (e.rate.value + e.rate.error));
      if (beta <= 2) off = std::max(off, std::abs(moved - 1));
      table.labels.push_back(c.name);
      table.rows.push_back({static_cast<double>(c.dim),
                            static_cast<double>(c.tokens.size() / c.dim), beta, e.rate.value,
                            e.rate.error, e.frame.value, e.frame.error, moved});
    }
  checks.push_back(
      at_most("critical points: largest velocity per e^{-beta} of time", fixed, 1e-15));
  checks.push_back(at_least("escape rate: lower end of its enclosure over it, smallest", rate,
                            std::nextafter(0, 1)));
  checks.push_back(at_least("bound by turning all tokens towards one vector: lower end over it",
                            frame, std::nextafter(0, 1)));
  checks.push_back(at_most("that bound over the largest eigenvalue", crossed, 1));
  // A nudge of 1e-5: its square times beta^2, and rounding over it.
  checks.push_back(
      at_most("velocities along the escape direction over its rate, less 1: largest", off, 1e-6));
  return table;
}

std::vector<PageFigure> figures(const std::vector<End>& all) {
  report::Panel panel{.x = {.label = "β", .low = 0, .high = 50},
                      .y = {.label = "log_{10} time to one cluster"}};
  report::Series series[] = {dots("softmax", report::kBlue, 2.2),
                             dots("unnormalised", report::kOrange, 2.2)};
  for (std::size_t k = 0; k < std::min<std::size_t>(all.size(), 4000); ++k)
    if (all[k].collapsed)
      add_point(series[k % 2], start_of(k).beta, all[k].log_time / std::numbers::ln10);
  panel.series = {series[0], series[1]};
  return {picture("times", "Every start ends in one cluster", {std::move(panel)},
                  "Time until all tokens are one, n = 2 to 64 uniform tokens in d = 3 to 16.")};
}

Finding run(const Effort& effort) {
  Finding finding;
  const std::size_t starts = effort.quick ? 100 : 100'000;
  const std::vector<End> all = ends(starts, effort);
  if (effort.context.stopped()) return finding;
  double failed = 0, longest = -HUGE_VAL, steps = 0;
  for (const End& e : all) {
    failed += !e.collapsed;
    longest = std::max(longest, e.log_time / std::numbers::ln10);
    steps += e.steps / static_cast<double>(starts);
  }
  finding.checks.push_back(near("starts that did not end in one cluster", failed, 0, 0));
  finding.answer.tables = {ways_out(finding.checks)};
  finding.answer.headline = fmt::format(
      "{} random starts (n ≤ 64, 3 ≤ d ≤ 16, β ≤ 50) all ended in one cluster: with 95 % "
      "confidence fewer than {:.1g} of them do not; the longest took 10^{{{:.1f}}}. Every critical "
      "point tried has a way out.",
      starts, 3 / static_cast<double>(starts), longest);
  finding.answer.values["starts"] = starts;
  finding.answer.values["failed"] = number(failed);
  finding.answer.values["bound_95"] = number(3 / static_cast<double>(starts));
  finding.answer.values["log10_longest_time"] = number(longest);
  finding.answer.values["steps_on_average"] = number(steps);
  finding.answer.draw = [all] { return figures(all); };
  return finding;
}

}  // namespace

Entry entry() {
  return {.id = "one-cluster-almost-surely",
          .title = "Almost every start ends in one cluster",
          .source = "arXiv 2512.01868, section 4.1; 2405.18273",
          .shows =
              "On spheres of d >= 3 tokens under softmax or unnormalised attention with beta >= 0 "
              "converge to one cluster from almost every start: every other critical point of "
              "the energy has a direction that grows.",
          .run = run};
}

}  // namespace attractor::papers::one_cluster
