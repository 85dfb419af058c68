// A perceptron beside attention: x' = P_x (A(x) + F(x)), F(x) = sum_j w_j a_j relu(<a_j, x>), the
// gradient of U(x) = sum_j w_j relu(<a_j, x>)^2 / 2. n = 500 tokens on the circle, step 0.1, 13
// values of beta from 0.01 to 50: tokens end in few points, localised where U is large.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "attractor/base/numbers.hpp"
#include "attractor/depth/layer_flow.hpp"
#include "attractor/observe/energy.hpp"
#include "attractor/space/space.hpp"
#include "attractor/tokens/generators.hpp"
#include "papers/entry.hpp"
#include "papers/layers/perceptron.hpp"
#include "papers/pictures.hpp"
#include "papers/points.hpp"
#include "papers/token_walk.hpp"

namespace attractor::papers::feed_forward {
namespace {

using std::numbers::pi;

depth::Architecture architecture(Rule rule, double beta) {
  depth::Architecture a;
  a.layer.dim = 2;
  a.layer.rule = rule;
  a.layer.beta = beta;
  a.feed_forward = perceptron();
  return a;
}

double largest_speed(const depth::Architecture& a, const std::vector<double>& state) {
  const depth::LayerFlow flow(a, state.size() / 2);
  std::vector<double> drift(state.size());
  flow.drift(state, 0, drift);
  double largest = 0;
  for (std::size_t i = 0; i < state.size() / 2; ++i)
    largest = std::max(largest, norm(row(drift, 2, i)));
  return largest;
}

/// Unnormalised attention climbs E + mean U, at the rate of the mean squared speed: the largest
/// difference of the two rates over the largest rate.
double balance(double beta, const Effort& effort) {
  Walk walk{.architecture = architecture(Rule::unnormalised, beta),
            .tokens = make_tokens({.tokens = 60, .dim = 2, .seed = 1}).data,
            .tolerance = 1e-11};
  const int outputs = 200;
  const double h = 0.01;
  for (int k = 0; k <= outputs; ++k) walk.times.push_back(k * h);
  const std::vector<std::vector<double>> states = states_of(walk, effort);
  const depth::LayerFlow flow(walk.architecture, 60);
  const Attention attention{.rule = Rule::unnormalised, .beta = beta, .dim = 2};
  const std::vector<double> masses(60, 1.0);
  std::vector<double> energy, rate, drift(120);
  for (const std::vector<double>& x : states) {
    energy.push_back(std::exp(observe::energy(attention, x, masses, 0).log_energy));
    for (std::size_t i = 0; i < 120; i += 2)
      energy.back() += potential(walk.architecture.feed_forward, x[i], x[i + 1]) / 60;
    flow.drift(x, 0, drift);
    rate.push_back(dot(drift, drift) / 60);
  }
  double worst = 0;
  for (std::size_t k = 1; k + 1 < energy.size(); ++k)
    worst = std::max(worst, std::abs((energy[k + 1] - energy[k - 1]) / (2 * h) - rate[k]));
  return worst / *std::max_element(rate.begin(), rate.end());
}

struct End {
  double beta = 0, atoms = 0, converged = kNan, speed = 0, off = 0;
  std::vector<double> tokens{};
};

End end_of(double beta, bool converged, const Effort& effort) {
  Walk walk{.architecture = architecture(Rule::softmax, beta),
            .tokens = make_tokens({.tokens = effort.quick ? 100U : 500U, .dim = 2, .seed = 2}).data,
            .times = {30},
            .stepper = flow::Method::layers};
  End end{.beta = beta, .tokens = states_of(walk, effort).back()};
  end.atoms = static_cast<double>(distinct(end.tokens, 2, 0.01));
  end.speed = largest_speed(walk.architecture, end.tokens);
  if (converged) {
    walk.stepper = flow::Method::adaptive;
    walk.tolerance = 1e-6;
    end.converged = static_cast<double>(distinct(states_of(walk, effort).back(), 2, 0.01));
  }
  const std::vector<double> tops = maxima(walk.architecture.feed_forward);
  for (std::size_t i = 0; i < end.tokens.size(); i += 2) {
    double nearest = pi;
    for (const double top : tops)
      nearest = std::min(nearest, std::abs(std::remainder(
                                      std::atan2(end.tokens[i + 1], end.tokens[i]) - top, 2 * pi)));
    end.off = std::max(end.off, nearest);
  }
  return end;
}

std::vector<PageFigure> figures(const std::vector<End>& ends) {
  const depth::FeedForward f = perceptron();
  report::Series landscape = line("U along the circle", report::kInk),
                 atoms = dots("", report::kBlue, 2.8);
  for (int k = 0; k <= 720; ++k) {
    const double a = pi * (k / 360.0 - 1);
    add_point(landscape, a, potential(f, std::cos(a), std::sin(a)));
  }
  for (const End& e : ends)
    for (std::size_t i = 0; i < e.tokens.size(); i += 2)
      add_point(atoms, std::atan2(e.tokens[i + 1], e.tokens[i]), e.beta);
  report::Panel top{.title = "where tokens end",
                    .x = {.label = "angle", .low = -pi, .high = pi},
                    .y = {.label = "β", .scale = report::Scale::log, .low = 0.006, .high = 80},
                    .series = {atoms}},
      bottom{.title = "potential of the perceptron",
             .x = {.label = "angle", .low = -pi, .high = pi},
             .y = {.label = "U"},
             .series = {landscape}};
  for (const double a : maxima(f))
    for (report::Panel* panel : {&top, &bottom})
      panel->vertical.push_back({.at = std::remainder(a, 2 * pi), .dashed = true});
  return {picture("atoms", "Attention and a perceptron", {top, bottom},
                  "Left: all tokens at t = 30 for 13 values of β; each row is a few points. "
                  "Dashed: local maxima of the perceptron's potential U (right), where atoms sit "
                  "once β is large.")};
}

Finding run(const Effort& effort) {
  std::vector<End> ends;
  Finding finding;
  Table table{.name = "atoms",
              .title = "Softmax attention with a perceptron, t = 30",
              .columns = {"beta", "atoms_step_0.1", "atoms_converged", "largest_speed",
                          "distance_from_maxima"}};
  double most = 0, speed = 0, differ = 0;
  for (int k = 0; k < 13; ++k) {
    ends.push_back(end_of(0.01 * std::pow(5000, k / 12.0), !effort.quick || k % 4 == 0, effort));
    if (effort.context.stopped()) return finding;
    const End& e = ends.back();
    table.rows.push_back({e.beta, e.atoms, e.converged, e.speed, e.off});
    most = std::max(most, e.atoms);
    speed = std::max(speed, e.speed);
    if (!std::isnan(e.converged)) differ = std::max(differ, std::abs(e.atoms - e.converged));
    effort.context.tell((k + 1) / 13.0, "beta");
  }
  const double n = static_cast<double>(ends.front().tokens.size()) / 2;
  finding.checks = {
      at_most("different places (0.01 apart) at t = 30 over tokens, most", most / n, 0.1),
      at_most("largest speed at t = 30", speed, 1e-3),
      at_most("number of places, step 0.1 against converged, largest difference", differ, 0),
      at_most("beta = 50: distance of tokens from the maxima of U, largest", ends.back().off, 0.02),
      at_most("unnormalised, beta = 1: rate of E + U minus mean squared speed, over the largest",
              balance(1, effort), 1e-3),
      at_most("unnormalised, beta = 3: the same", balance(3, effort), 1e-3)};
  finding.answer.headline = fmt::format(
      "At every β from 0.01 to 50 all {} tokens end in at most {:.0f} points; at β = 50 these are "
      "within {:.2g} rad of the maxima of the perceptron's potential.",
      n, most, ends.back().off);
  finding.answer.tables.push_back(std::move(table));
  finding.answer.remarks.push_back(
      "The weights of the paper's figure are not known to us; ours are one fixed draw of six "
      "neurons in which the output weights are multiples of the input weights, so that the block "
      "is a gradient. Compared is the claim, not a curve.");
  finding.answer.draw = [ends] { return figures(ends); };
  return finding;
}

}  // namespace

Entry entry() {
  return {.id = "feed-forward",
          .title = "A perceptron localises the clusters",
          .source = "arXiv 2601.21366",
          .shows =
              "With a perceptron block beside attention (n = 500, step 0.1, 13 values of beta "
              "from 0.01 to 50) stationary states of the mean field are generically atomic "
              "and localised on subsets of the sphere.",
          .run = run};
}

}  // namespace attractor::papers::feed_forward
