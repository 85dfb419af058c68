// Where causal tokens end if values are not the identity. Said of the largest eigenvalue of V:
// where it is simple and positive tokens end at its eigenvectors +-xi, where it is multiple at the
// projection of the first token. With symmetric V and logits beta <x_i, x_j> that follows token by
// token: with earlier tokens at +-xi, p and q of them, h = <x, xi> and m < lambda the value of V on
// the rest of x,
//
//   h' ~ (1 - h^2) (lambda (p e^{beta h} - q e^{-beta h}) + e^beta h (lambda - m)),
//
// and the bracket rises through its only zero. Neither holds for other logits or a V that is not
// symmetric: there are boxes of starts that are never left (causal_trap.hpp).
#include <fmt/format.h>

#include <Eigen/LU>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <numbers>

#include "attractor/attention/weights.hpp"
#include "attractor/base/dense.hpp"
#include "attractor/base/random.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/depth/layer_flow.hpp"
#include "attractor/flow/run.hpp"
#include "attractor/tokens/generators.hpp"
#include "papers/entry.hpp"
#include "papers/metastability/causal_trap.hpp"
#include "papers/pictures.hpp"
#include "papers/points.hpp"
#include "papers/token_walk.hpp"

namespace attractor::papers::causal_values {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
constexpr double kPi = std::numbers::pi;

enum class Kind { simple, multiple, own_logits, oblique };
constexpr const char* kNames[] = {"V symmetric, logits βI", "the same, double eigenvalue",
                                  "V symmetric, Q and K drawn", "V oblique, logits βI"};

struct Problem {
  depth::Architecture architecture{};
  std::vector<double> start{};
  MatrixXd leading;  // dim x 1 or 2: eigenvectors of the largest eigenvalue
};

MatrixXd gaussian(std::size_t dim, const Stream& draws, std::uint64_t number) {
  const auto d = static_cast<Eigen::Index>(dim);
  MatrixXd m(d, d);
  for (Eigen::Index k = 0; k < m.size(); ++k)
    m.data()[k] = draws.normal(number, 100 + static_cast<std::uint64_t>(k));
  return m;
}

/// Eigenvalues 1 (once or twice) and others below 0.9; eigenvectors at right angles or any.
Problem problem_of(Kind kind, std::uint64_t number) {
  const Stream draws(static_cast<std::uint64_t>(kind), "causal values");
  const std::size_t tokens = 2 + draws.below(15, number, 0),
                    leading = kind == Kind::multiple ? 2 : 1;
  const std::size_t dim = leading + 1 + draws.below(4, number, 1);
  const auto d = static_cast<Eigen::Index>(dim);
  MatrixXd vectors = gaussian(dim, draws, number);
  if (kind != Kind::oblique) vectors = Eigen::HouseholderQR<MatrixXd>(vectors).householderQ();
  VectorXd values = VectorXd::Ones(d);
  for (Eigen::Index k = static_cast<Eigen::Index>(leading); k < d; ++k)
    values[k] = -1 + 1.9 * draws.uniform(number, 10 + static_cast<std::uint64_t>(k));
  const RowMatrix value = vectors * values.asDiagonal() * vectors.inverse();
  Problem p;
  AttentionLayer& layer = p.architecture.layer;
  layer.beta = (kind == Kind::multiple ? 2 : 3) * draws.uniform(number, 2);
  layer.dim = dim;
  layer.mask.causal = true;
  layer.heads[0].value.assign(value.data(), value.data() + value.size());
  if (kind == Kind::own_logits) {
    layer.heads[0].query = draw_weights(WeightKind::gaussian, dim, dim, {number, "query"});
    layer.heads[0].key = draw_weights(WeightKind::gaussian, dim, dim, {number, "key"});
  }
  p.start = make_tokens({.tokens = tokens, .dim = dim, .seed = number}).data;
  p.leading = vectors.leftCols(static_cast<Eigen::Index>(leading));
  return p;
}

/// Whether all tokens have come within 1e-6 of where they are said to end, before t = 1e5 (1e3
/// where many end elsewhere and stay).
bool as_said(Kind kind, std::uint64_t number, const Effort& effort) {
  const Problem p = problem_of(kind, number);
  const std::size_t dim = p.architecture.layer.dim;
  // The part of the first token in the eigenspace, whose direction never changes.
  const VectorXd first = Eigen::Map<const VectorXd>(p.start.data(), p.leading.rows());
  VectorXd goal = p.leading.col(0);
  if (p.leading.cols() > 1) goal = p.leading * (p.leading.transpose() * first);
  goal.normalize();
  depth::LayerFlow tokens(p.architecture, p.start.size() / dim);
  flow::Progress progress{.state = p.start};
  bool there = false;
  flow::Hooks hooks;
  hooks.stop = [&] { return there || effort.context.stopped(); };
  hooks.step = [&](const flow::Step& step) {
    there = true;
    for (std::size_t k = 0; k < step.after.size() && there; k += dim) {
      const Eigen::Map<const VectorXd> x(step.after.data() + k, goal.size());
      const double beside = (x - x.dot(goal) * goal).norm();
      there = beside < 1e-6 && (kind != Kind::multiple || x.dot(goal) > 0);
    }
  };
  const double end = kind == Kind::simple || kind == Kind::multiple ? 1e5 : 1e3;
  flow::run(tokens, flow::dormand_prince(), {.end = flow::Time(end), .tolerance = 1e-7}, progress,
            hooks);
  return there;
}

double share_as_said(Kind kind, std::size_t starts, const Effort& effort) {
  std::vector<char> ends(starts, 0);
  parallel_for(starts, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end && !effort.context.stopped(); ++k)
      ends[k] = as_said(kind, k, effort) ? 1 : 0;
  });
  return static_cast<double>(std::count(ends.begin(), ends.end(), 1)) / static_cast<double>(starts);
}

// ---- Two tokens on the circle.

struct Case {
  std::string name;
  CausalPair pair;
  AngleBox box;
};

std::vector<Case> cases() {
  const auto ratio = [](int a, int b) { return Rational(a, b); };
  return {{"Q = K = diag(1/2, 5/2), V = diag(1, 7/8)",
           {{ratio(1, 4), 0, 0, ratio(25, 4)}, {1, 0, 0, ratio(7, 8)}},
           {ratio(1, 100), ratio(12, 5), ratio(13, 3)}},
          {"β = 1/8, V = (1 2; 0 1/2)",
           {{ratio(1, 8), 0, 0, ratio(1, 8)}, {1, 2, 0, ratio(1, 2)}},
           {ratio(1, 1000), -25, -1}},
          // Where every token ends at the axis: no box around its far end holds anything.
          {"β = 1/8, V = diag(1, 1/2)",
           {{ratio(1, 8), 0, 0, ratio(1, 8)}, {1, 0, 0, ratio(1, 2)}},
           {ratio(1, 100), 2, 20}}};
}

std::array<double, 4> numbers(const std::array<Rational, 4>& m) {
  std::array<double, 4> values{};
  for (std::size_t k = 0; k < 4; ++k) values[k] = m[k].convert_to<double>();
  return values;
}

double angle_at(const Rational& tangent) {
  const double a = 2 * std::atan(tangent.convert_to<double>());
  return a < 0 ? a + 2 * kPi : a;
}

/// Velocity of the second token, the first being at the axis, up to a positive factor.
double turn(const CausalPair& pair, double angle) {
  const auto b = numbers(pair.logits), v = numbers(pair.value);
  const double c = std::cos(angle), s = std::sin(angle);
  const auto of = [&](const auto& m, double x, double y, double z, double w) {
    return x * (m[0] * z + m[1] * w) + y * (m[2] * z + m[3] * w);
  };
  return of(v, -s, c, 1, 0) + std::exp(of(b, c, s, c, s) - of(b, c, s, 1, 0)) * of(v, -s, c, c, s);
}

/// Where it rests between the edges of the box.
double rest_of(const Case& c) {
  double low = angle_at(c.box.from), high = angle_at(c.box.to);
  for (int k = 0; k < 200; ++k) {
    const double middle = (low + high) / 2;
    (turn(c.pair, middle) > 0 ? low : high) = middle;
  }
  return low;
}

/// Angles of the second token in time, the first starting next to the axis.
std::vector<double> walked(const Case& c, double angle, const std::vector<double>& times,
                           const Effort& effort) {
  Walk walk{.tokens = {std::cos(0.001), std::sin(0.001), std::cos(angle), std::sin(angle)},
            .times = times,
            .tolerance = 1e-11};
  AttentionLayer& layer = walk.architecture.layer;
  layer.dim = 2;
  layer.mask.causal = true;
  const auto b = numbers(c.pair.logits), v = numbers(c.pair.value);
  layer.heads[0].query = {1, 0, 0, 1};
  layer.heads[0].key.assign(b.begin(), b.end());
  layer.heads[0].value.assign(v.begin(), v.end());
  std::vector<double> angles;
  for (const auto& state : states_of(walk, effort)) {
    const double a = std::atan2(state[3], state[2]);
    angles.push_back(a < 0 ? a + 2 * kPi : a);
  }
  return angles;
}

Table traps(const Effort& effort, std::vector<Check>& checks) {
  Table table{.name = "boxes",
              .title = "Two tokens on the circle: boxes of starts that are never left",
              .columns = {"from_degrees", "to_degrees", "inward_sides", "rest", "flow_at_400"},
              .label_column = "weights"};
  const std::vector<Case> all = cases();
  for (const Case& c : all) {
    const bool held = &c != &all.back();
    const int sides = inward_sides(c.pair, c.box);
    const double rest = held ? rest_of(c) : kPi;
    const double seen =
        walked(c, (angle_at(c.box.from) + angle_at(c.box.to)) / 2, {400}, effort).back();
    table.labels.push_back(c.name);
    table.rows.push_back({angle_at(c.box.from) * 180 / kPi, angle_at(c.box.to) * 180 / kPi,
                          static_cast<double>(sides), rest, seen});
    if (held) {
      checks.push_back(
          near(c.name + ": sides through which the flow is proved to lead inwards", sides, 4, 0));
      checks.push_back(
          near(c.name + ": end of the flow from the middle of the box, radians", seen, rest, 1e-8));
      checks.push_back(at_least(c.name + ": its distance from both ends of the axis",
                                std::min(std::abs(kPi - rest), std::min(rest, 2 * kPi - rest)),
                                0.1));
    } else {
      checks.push_back(at_most(c.name + ": sides that lead inwards", sides, 3));
      checks.push_back(at_most(c.name + ": its end from the axis, radians",
                               std::abs(std::remainder(seen, kPi)), 1e-8));
    }
  }
  return table;
}

PageFigure figure(const Effort& effort) {
  std::vector<report::Panel> panels;
  std::vector<double> times;
  for (int k = 1; k <= 80; ++k) times.push_back(0.5 * k);
  for (const Case& c : cases()) {
    report::Panel panel{.title = c.name,
                        .x = {.label = "t", .low = 0, .high = 40},
                        .y = {.label = "angle of the second token", .low = 0, .high = 362}};
    for (int k = 0; k < 12; ++k) {
      const double start = 15 + 30.0 * k;
      report::Series way = line("", report::kBlue, 1.4);
      add_point(way, 0, start);
      const std::vector<double> angles = walked(c, start * kPi / 180, times, effort);
      double now = start;  // degrees, without jumps at 360
      for (std::size_t i = 0; i < angles.size(); ++i) {
        now += std::remainder(angles[i] * 180 / kPi - now, 360);
        add_point(way, times[i], now);
      }
      panel.series.push_back(std::move(way));
    }
    panels.push_back(std::move(panel));
  }
  return picture(
      "ways", "The second token", std::move(panels),
      "The first token stands at 0° (360°), the axis. Left: logits of their own; middle: values "
      "that are not symmetric; some starts end away from 0° and 180°. Right: symmetric "
      "values and logits β⟨x, y⟩, where none does.");
}

Finding run(const Effort& effort) {
  Finding finding;
  finding.answer.tables.push_back(traps(effort, finding.checks));
  Table hunt{.name = "hunt",
             .title = "Random problems: 2 to 16 tokens, d = 2 to 6, β ≤ 3 (2 where it is double)",
             .columns = {"starts", "as_said"},
             .label_column = "weights"};
  const std::size_t starts = effort.quick ? 100 : 10000;
  double share[4];
  for (int k = 0; k < 4; ++k) {
    share[k] = share_as_said(static_cast<Kind>(k), starts, effort);
    if (effort.context.stopped()) return finding;
    hunt.labels.emplace_back(kNames[k]);
    hunt.rows.push_back({static_cast<double>(starts), share[k]});
    effort.context.tell((k + 1) / 4.0, "weights");
  }
  for (int k = 0; k < 2; ++k)
    finding.checks.push_back(
        near(fmt::format("{}: share of starts that end as said", kNames[k]), share[k], 1, 0));
  for (int k = 2; k < 4; ++k)
    finding.checks.push_back(at_most(fmt::format("{}: share of starts that do", kNames[k]),
                                     share[k], 1 - 1.0 / static_cast<double>(starts)));
  finding.answer.headline = fmt::format(
      "With symmetric V and logits β⟨x, y⟩ all of {} starts ended as said (with 95 % confidence "
      "fewer than {:.1g} do not); with other logits {:.1f} %, with V that is not symmetric {:.1f} "
      "% had not by t = 1000, and boxes of starts are proved never to be left.",
      2 * starts, 1.5 / static_cast<double>(starts), 100 * (1 - share[2]), 100 * (1 - share[3]));
  finding.answer.values["starts"] = 4 * starts;
  finding.answer.remarks.push_back(
      "Which Q, K and V the statement is meant for is not said where we read it; the numbers say "
      "for which it holds.");
  finding.answer.tables.push_back(std::move(hunt));
  finding.answer.draw = [effort] { return std::vector{figure({.quick = effort.quick})}; };
  return finding;
}

}  // namespace

Entry entry() {
  return {
      .id = "causal-values",
      .title = "Causal attention with values: where tokens end, and where not",
      .source = "arXiv 2411.04990, conjecture",
      .shows =
          "Where the largest eigenvalue of V is simple and positive causal tokens end at its "
          "eigenvectors, one or the other; where it is multiple all end at the projection of the "
          "first token to its eigenspace.",
      .run = run};
}

}  // namespace attractor::papers::causal_values
