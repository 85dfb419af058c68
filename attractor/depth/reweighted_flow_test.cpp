#include "attractor/depth/reweighted_flow.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "attractor/flow/run.hpp"
#include "attractor/tokens/generators.hpp"
#include "tests/support/refusal.hpp"

namespace attractor::depth {
namespace {

std::vector<double> after(ReweightedFlow& flow, std::vector<double> state, double time) {
  flow::Progress progress{.state = std::move(state)};
  EXPECT_EQ(flow::run(flow, flow::dormand_prince(), {.end = flow::Time(time), .tolerance = 1e-12},
                      progress, {}),
            flow::Status::complete);
  return progress.state;
}

// delta' = -e^{beta cos delta} sin delta, w' = w (1 - w)(2w - 1)(e^beta - e^{beta cos delta})/beta,
// from 2 and 0.6: mpmath's odefun, 30 digits.
TEST(ReweightedFlow, TwoTokensFollowTheirEquation) {
  ReweightedFlow flow({.beta = 2, .rate = 1, .dim = 2});
  const std::vector<double> x = {1, 0, std::cos(2.0), std::sin(2.0)}, w = {3, 2};
  const std::vector<double> end = after(flow, flow.state_of(x, w), 1);
  EXPECT_NEAR(std::exp(end[2]), 0.85972557288695757445, 1e-11);
  EXPECT_NEAR(std::exp(end[5]), 1 - 0.85972557288695757445, 1e-11);
  EXPECT_NEAR(std::atan2(end[4], end[3]) - std::atan2(end[1], end[0]), 1.1361753690132138719,
              1e-11);
}

// dE/dt = sum w |x'|^2 + rate Var_w(F), by a difference.
TEST(ReweightedFlow, EnergyGrowsByItsGradient) {
  const TokenSet tokens = make_tokens({.tokens = 9, .dim = 3, .seed = 2});
  ReweightedFlow flow({.beta = 3, .rate = 0.7, .dim = 3});
  std::vector<double> w;
  for (int i = 1; i <= 9; ++i) w.push_back(i);
  const std::vector<double> state = flow.state_of(tokens.data, w);
  std::vector<double> v(state.size()), before = state, later = state;
  flow.drift(state, 0, v);
  const double h = 1e-5;
  double power = 0;
  for (std::size_t k = 0; k < state.size(); k += 4) {
    const double weight = std::exp(state[k + 3]);
    for (std::size_t a = 0; a < 3; ++a) power += weight * v[k + a] * v[k + a];
    power += weight * v[k + 3] * v[k + 3] / 0.7;  // rate (F - mean F) is the change of ln w
    for (std::size_t a = 0; a < 4; ++a) {
      before[k + a] -= h * v[k + a];
      later[k + a] += h * v[k + a];
    }
    flow.space().retract(std::span(before).subspan(k, 4));
    flow.space().retract(std::span(later).subspan(k, 4));
  }
  EXPECT_NEAR((flow.energy(later) - flow.energy(before)) / (2 * h), power, 1e-6 * power);
}

TEST(ReweightedFlow, RefusesWhatHasNoMeaning) {
  EXPECT_EQ(refusal([] { ReweightedFlow({.beta = 0}); }),
            "beta = 0 is not allowed; allowed: above 0 to 700");
  EXPECT_EQ(refusal([] { ReweightedFlow({.rate = -1}); }),
            "rate = -1 is not allowed; allowed: 0 to 1e6");
  const std::vector<double> x = {1, 0}, w = {0};
  EXPECT_EQ(refusal([&] { ReweightedFlow({.beta = 1}).state_of(x, w); }),
            "weight = 0 is not allowed; allowed: above 0");
}

}  // namespace
}  // namespace attractor::depth
