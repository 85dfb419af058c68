// Rotary positions on a ring: spectra of twisted states by sums of Bessel functions against those
// of the flow's own Jacobian, what grows and what decays in the flow, the twist that holds above
// beta = 0.584, and how the ring's answer fails for other masks, frequencies and dimensions. One
// cluster rests whatever the positions: near it tokens obey u' = (P - 1) u, P_ij the weights there.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "attractor/attention/attention_layer.hpp"
#include "attractor/base/dense.hpp"
#include "attractor/base/random.hpp"
#include "attractor/space/space.hpp"
#include "attractor/stability/ring_spectrum.hpp"
#include "papers/entry.hpp"
#include "papers/pictures.hpp"
#include "papers/token_walk.hpp"

namespace attractor::papers::twisted_states {
namespace {

using meanfield::Ring;
constexpr double kTurn = 2 * std::numbers::pi;
constexpr double kHolds = 0.58410837099746;  // beta above which m = -2q holds its twist

/// Tokens, and at each a tangent direction in which it may be displaced.
struct Scene {
  AttentionLayer layer{};
  std::vector<double> tokens{}, directions{};

  std::size_t count() const { return tokens.size() / layer.dim; }
};

Scene on_circle(const std::vector<double>& angles, double beta, double frequency) {
  Scene scene;
  scene.layer.beta = beta;
  scene.layer.dim = 2;
  scene.layer.query_key.rotary = {.layout = RotaryLayout::pairs, .fastest = frequency};
  for (const double a : angles) {
    scene.tokens.insert(scene.tokens.end(), {std::cos(a), std::sin(a)});
    scene.directions.insert(scene.directions.end(), {-std::sin(a), std::cos(a)});
  }
  return scene;
}

std::vector<double> twisted(std::size_t tokens, double twist) {
  std::vector<double> angles;
  for (std::size_t i = 0; i < tokens; ++i)
    angles.push_back(kTurn * twist * static_cast<double>(i) / static_cast<double>(tokens));
  return angles;
}

Scene scene_of(const Ring& r) {
  return on_circle(twisted(r.tokens, static_cast<double>(r.twist)), r.beta,
                   kTurn * static_cast<double>(r.turn) / static_cast<double>(r.tokens));
}

/// Along great circles, each token by its own angle.
std::vector<double> displaced(const Scene& s, const Eigen::VectorXd& by) {
  std::vector<double> moved = s.tokens;
  for (std::size_t k = 0; k < moved.size(); ++k) {
    const double angle = by[static_cast<Eigen::Index>(k / s.layer.dim)];
    moved[k] = std::cos(angle) * s.tokens[k] + std::sin(angle) * s.directions[k];
  }
  return moved;
}

/// Velocities along the directions, turned as the tokens were.
Eigen::VectorXd velocities(const Scene& s, const Eigen::VectorXd& by) {
  LayerOutput out;
  attend(s.layer, displaced(s, by), {}, out);
  Eigen::VectorXd speed(by.size());
  for (Eigen::Index i = 0; i < by.size(); ++i) {
    double sum = 0;
    for (std::size_t a = 0; a < s.layer.dim; ++a) {
      const std::size_t k = static_cast<std::size_t>(i) * s.layer.dim + a;
      sum += out.pull[k] * (std::cos(by[i]) * s.directions[k] - std::sin(by[i]) * s.tokens[k]);
    }
    speed[i] = sum;
  }
  return speed;
}

/// By differences of sixth order.
Eigen::MatrixXd jacobian(const Scene& s) {
  constexpr double kStep = 4e-3;
  const auto n = static_cast<Eigen::Index>(s.count());
  Eigen::MatrixXd J(n, n);
  for (Eigen::Index j = 0; j < n; ++j) {
    const auto slope = [&](double h) {
      const Eigen::VectorXd by = h * Eigen::VectorXd::Unit(n, j);
      return Eigen::VectorXd((velocities(s, by) - velocities(s, -by)) / (2 * h));
    };
    J.col(j) = 1.5 * slope(kStep) - 0.6 * slope(2 * kStep) + 0.1 * slope(3 * kStep);
  }
  return J;
}

double rest_speed(const Scene& s) {
  return velocities(s, Eigen::VectorXd::Zero(static_cast<Eigen::Index>(s.count())))
      .cwiseAbs()
      .maxCoeff();
}

/// Real parts, descending; that of rotations, 0, is left out.
std::vector<double> rates_of(const Eigen::MatrixXd& J) {
  std::vector<double> rates;
  for (const std::complex<double>& z : general_eigenvalues(J)) rates.push_back(z.real());
  const auto still = std::min_element(rates.begin(), rates.end(),
                                      [](double a, double b) { return std::abs(a) < std::abs(b); });
  rates.erase(still);
  std::sort(rates.rbegin(), rates.rend());
  return rates;
}

/// By inverse iteration, of an eigenvalue that is known.
Eigen::VectorXd mode_of(const Eigen::MatrixXd& J, double rate) {
  const Eigen::Index n = J.rows();
  const Eigen::MatrixXd shifted = J - (rate + 1e-7) * Eigen::MatrixXd::Identity(n, n);
  Eigen::VectorXd mode(n);
  for (Eigen::Index i = 0; i < n; ++i) mode[i] = std::cos(1.0 + 2.3 * static_cast<double>(i));
  for (int k = 0; k < 4; ++k) mode = lu_solve(shifted, mode).normalized();
  return mode;
}

/// How fast the flow itself grows or loses a small displacement along a mode.
double flow_rate(const Scene& s, const Eigen::VectorXd& mode, double rate, const Effort& effort) {
  constexpr double kSmall = 1e-5;
  Walk walk{.tokens = displaced(s, kSmall * mode), .times = {1.5 / std::abs(rate)}};
  walk.architecture.layer = s.layer;
  walk.tolerance = 1e-13;
  walk.stepper = flow::Method::adaptive8;
  const std::vector<double> end = states_of(walk, effort).back();
  double along = 0;
  for (std::size_t k = 0; k < end.size(); ++k)
    along +=
        (end[k] - s.tokens[k]) * s.directions[k] * mode[static_cast<Eigen::Index>(k / s.layer.dim)];
  return std::log(along / kSmall) / walk.times[0];
}

Table spectra(const Effort& effort, std::vector<Check>& checks) {
  Table table{.name = "spectra",
              .title =
                  "Rates of waves around a twisted state: fastest by aliased Bessel functions, "
                  "largest distance of any from eigenvalues of the Jacobian, and in the flow",
              .columns = {"n", "q", "m", "beta", "fastest", "distance", "flow"}};
  for (const Ring& r : {Ring{24, 1, 0, 2}, Ring{24, 5, -10, 1}, Ring{25, 3, 4, 5},
                        Ring{24, 4, 2, 0.5}, Ring{32, 0, 5, 4}, Ring{16, 8, 0, 1}}) {
    if (effort.context.stopped()) return table;
    const Scene scene = scene_of(r);
    const Eigen::MatrixXd J = jacobian(scene);
    const std::vector<double> numeric = rates_of(J);
    std::vector<double> exact = meanfield::twisted_spectrum(r);
    exact.erase(exact.begin());
    std::sort(exact.rbegin(), exact.rend());
    double distance = 0;
    for (std::size_t p = 0; p < exact.size(); ++p)
      distance = std::max(distance, std::abs(exact[p] - numeric[p]));
    const double flow = flow_rate(scene, mode_of(J, exact[0]), exact[0], effort);
    table.rows.push_back({static_cast<double>(r.tokens), static_cast<double>(r.twist),
                          static_cast<double>(r.turn), r.beta, exact[0], distance, flow});
    const std::string what =
        fmt::format("n = {}, q = {}, m = {}, beta = {}", r.tokens, r.twist, r.turn, r.beta);
    checks.push_back(at_most(what + ": spectrum against the Jacobian", distance, 1e-10));
    checks.push_back(near_relative(what + ": fastest wave in the flow", flow, exact[0], 1e-5));
  }
  return table;
}

/// Where any twist attracts: without positions none does.
std::size_t attracting(std::size_t tokens, double beta, bool positions) {
  const auto half = static_cast<long long>(tokens) / 2;
  std::size_t count = 0;
  for (long long q = 1 - half; q <= half; ++q)
    for (long long m = positions ? 1 - half : 0; m <= (positions ? half : 0); ++m)
      if (q != 0 && (m != 0 || !positions) &&
          meanfield::fastest_growth({tokens, q, m, beta}) < -1e-12)
        ++count;
  return count;
}

struct Held {
  double beta, twist, together;  // |mean of e^{i(theta_i - twist)}| and of e^{i theta_i} at the end
};

/// From a twist that noise has disturbed, n = 24, q = 5, m = -10.
Held held(double beta, const Effort& effort) {
  const Ring r{24, 5, -10, beta};
  const Scene scene = scene_of(r);
  Eigen::VectorXd noise(24);
  const Stream stream(7, "papers.twisted_states");
  stream.normals(0, std::span(noise.data(), 24));
  Walk walk{.tokens = displaced(scene, 0.05 * noise), .times = {600}};
  walk.architecture.layer = scene.layer;
  const std::vector<double> end = states_of(walk, effort).back();
  std::complex<double> twist, together;
  for (std::size_t i = 0; i < 24; ++i) {
    const std::complex<double> z(end[2 * i], end[2 * i + 1]);
    together += z / 24.0;
    twist += z * std::conj(std::complex(scene.tokens[2 * i], scene.tokens[2 * i + 1])) / 24.0;
  }
  return {beta, std::abs(twist), std::abs(together)};
}

/// One cluster in any dimension: the slowest wave of the Jacobian and of the flow.
void one_cluster(const std::string& what, const Scene& scene, double expected, const Effort& effort,
                 Table& table, std::vector<Check>& checks) {
  if (effort.context.stopped()) return;
  const Eigen::MatrixXd J = jacobian(scene);
  const double slowest = rates_of(J).front();
  const double flow = flow_rate(scene, mode_of(J, slowest), slowest, effort);
  table.labels.push_back(what);
  table.rows.push_back({slowest, flow, expected});
  checks.push_back(
      near_relative(what + ": slowest wave in the flow, and of the Jacobian", flow, slowest, 1e-5));
}

/// How the ring's answer fails.
Table beyond_the_ring(const Effort& effort, std::vector<Check>& checks) {
  constexpr double kBeta = 3, kFrequency = 1;  // the first frequency of every trained model
  constexpr std::size_t kTokens = 24;
  const Ring nearest{kTokens, 0, 4, kBeta};  // 24/(2 pi) = 3.8
  const double ring = meanfield::fastest_growth(nearest);
  Table table{.name = "beyond",
              .title = "One cluster of 24 tokens, β = 3: its slowest wave",
              .columns = {"jacobian", "flow", "ring_or_closed_form"},
              .label_column = "positions"};
  const std::vector<double> together(kTokens, 0.4);
  Scene scene = scene_of(nearest);
  one_cluster("ring, m = 4", scene, ring, effort, table, checks);
  scene = on_circle(together, kBeta, kFrequency);
  one_cluster("frequency 1, which does not close", scene, ring, effort, table, checks);
  scene.layer.mask.causal = true;
  const double weight = std::exp(kBeta * (std::cos(kFrequency) - 1));
  one_cluster("the same, causal", scene, -weight / (1 + weight), effort, table, checks);
  Scene space;
  space.layer.beta = kBeta;
  space.layer.dim = 4;
  space.layer.query_key.rotary = {.layout = RotaryLayout::halves, .theta = 100};
  for (std::size_t i = 0; i < kTokens; ++i) {
    space.tokens.insert(space.tokens.end(), {0.5, 0.5, 0.5, 0.5});
    space.directions.insert(space.directions.end(), {0.5, -0.5, 0.5, -0.5});
  }
  one_cluster("d = 4, frequencies 1 and 0.1", space, ring, effort, table, checks);
  if (table.rows.size() < 4) return table;
  checks.push_back(near("ring: slowest wave of the Jacobian", table.rows[0][0], ring, 1e-10));
  checks.push_back(near("causal: slowest wave against that of the second token", table.rows[2][0],
                        table.rows[2][2], 1e-10));
  for (const std::size_t k : {1U, 3U})
    checks.push_back(at_least(table.labels[k] + ": the ring is wrong by the share",
                              std::abs(table.rows[k][0] / ring - 1), 0.01));
  const double closed = rest_speed(scene_of({kTokens, 3, 4, kBeta}));
  checks.push_back(at_most("speed of a twist on the ring", closed, 1e-14));
  scene = on_circle(twisted(kTokens, 3), kBeta, kFrequency);
  checks.push_back(
      at_least("the same with frequency 1: it does not rest", rest_speed(scene), 0.01));
  return table;
}

PageFigure figure(const std::vector<Held>& ends) {
  report::Panel left{.title = "fastest wave, n = 101",
                     .x = {.label = "β", .low = 0, .high = 4},
                     .y = {.label = "rate", .low = -1.5, .high = 1}},
      right{.title = "24 tokens at t = 600, q = 5, m = −10",
            .x = {.label = "β", .low = 0, .high = 1.6},
            .y = {.label = "share", .low = 0, .high = 1.05}};
  struct Case {
    const char* title;
    long long twist, turn;
  };
  for (const Case& c :
       {Case{"twist, no positions", 1, 0}, Case{"twist, m = −2q", 1, -2},
        Case{"one cluster, no positions", 0, 0}, Case{"one cluster, m = −2", 0, -2}}) {
    report::Series s = line(c.title, report::kPalette[left.series.size()]);
    for (double beta = 0; beta <= 4; beta += 0.05)
      add_point(s, beta, meanfield::fastest_growth({101, c.twist, c.turn, beta}));
    left.series.push_back(std::move(s));
  }
  left.horizontal.push_back({.at = 0});
  report::Series twist = dots("still twisted", report::kVermillion),
                 together = dots("in one cluster", report::kBlue);
  for (const Held& h : ends) {
    add_point(twist, h.beta, h.twist);
    add_point(together, h.beta, h.together);
  }
  right.series = {std::move(twist), std::move(together)};
  right.vertical.push_back({.at = kHolds});
  return two_columns("rates", {std::move(left), std::move(right)},
                     "Left: a state attracts where its fastest wave has a rate below 0. Right: "
                     "tokens started near a twist, on both sides of β = 0.584.");
}

Finding run(const Effort& effort) {
  Finding finding;
  Table table = spectra(effort, finding.checks);
  std::vector<Held> ends;
  for (const double beta : {0.2, 0.4, 0.5, 0.68, 0.8, 1.2}) {
    if (effort.context.stopped()) return {};
    ends.push_back(held(beta, effort));
    const Held& h = ends.back();
    const bool holds = beta > kHolds;
    finding.checks.push_back(near(fmt::format("q = 5, m = -10, beta = {}: share {} at t = 600",
                                              beta, holds ? "still twisted" : "in one cluster"),
                                  holds ? h.twist : h.together, 1, 1e-6));
  }
  const std::size_t without = attracting(24, 10, false), with = attracting(24, 10, true),
                    none = attracting(24, 0.5, true);
  finding.checks.push_back(at_most("24 tokens, beta = 10, no positions: twists that attract",
                                   static_cast<double>(without), 0));
  finding.checks.push_back(
      at_least("24 tokens, beta = 10, with positions: pairs (q, m) that attract",
               static_cast<double>(with), 1));
  finding.checks.push_back(at_most("24 tokens, beta = 0.5, with positions: pairs that attract",
                                   static_cast<double>(none), 0));
  Table beyond = beyond_the_ring(effort, finding.checks);
  if (effort.context.stopped() || beyond.rows.size() < 4) return {};
  finding.answer.headline = fmt::format(
      "Rotary positions can hold tokens apart for ever: on a ring of 24 tokens {} of the twisted "
      "states attract at β = 10, without positions {}; with m = −2q the twist attracts above β = "
      "0.5841. One cluster always attracts, at β = 3 with frequency 1 at the rate {:.4f}.",
      with, without, -beyond.rows[1][0]);
  finding.answer.draw = [ends] { return std::vector{figure(ends)}; };
  finding.answer.tables = {std::move(table), std::move(beyond)};
  return finding;
}

}  // namespace

Entry entry() {
  return {.id = "twisted-states",
          .title = "Rotary positions: twisted states on a ring",
          .source = "arXiv 2607.24502; 2605.30229",
          .shows =
              "With rotary positions whose frequency closes on a ring of tokens twisted states "
              "rest, and their spectra are sums of Bessel functions; positional encoding can keep "
              "tokens from collapsing.",
          .run = run};
}

}  // namespace attractor::papers::twisted_states
