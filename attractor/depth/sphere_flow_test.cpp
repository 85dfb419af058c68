// Tokens flowing on the sphere in O(n) an evaluation, against the dense rows and closed solutions.
#include "attractor/depth/sphere_flow.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "attractor/base/error.hpp"
#include "tests/support/field_flows.hpp"
#include "tests/support/random_rows.hpp"

namespace attractor::depth {
namespace {

std::vector<double> random_sphere_tokens(std::size_t count) {
  return unit_rows(normals_of("sphere flow test", 3, count, 3), 3);
}

TEST(SphereFlow, DriftAndIncrementAreThoseOfDenseRows) {
  const std::size_t n = 300;
  const std::vector<double> state = random_sphere_tokens(n), weights = whole_weights(n, 7);
  for (const Rule rule : {Rule::softmax, Rule::unnormalised})
    for (const double beta : {0.0, 0.5, 9.0, 100.0})
      for (const double accuracy : {1e-5, 1e-10}) {
        const SphereFlow flow({.rule = rule, .beta = beta, .accuracy = accuracy}, weights);
        const AttentionFlow dense = dense_flow(rule, beta, 3, weights);
        ASSERT_EQ(flow.log_unit(), dense.log_unit());
        std::vector<double> out(3 * n), truth(3 * n);
        for (const double unit : {flow.log_unit(), flow.log_unit() + 2}) {
          flow.drift(state, unit, out);
          dense.drift(state, unit, truth);
          const double allowed = flow.speed_error() * std::exp(unit - flow.log_unit());
          EXPECT_LE(farthest(out, truth, 3), allowed) << name(rule) << ' ' << beta;
          flow.increment(state, unit, out);
          dense.increment(state, unit, truth);
          EXPECT_LE(farthest(out, truth, 3), 2 * allowed) << name(rule) << ' ' << beta;
        }
      }
}

TEST(SphereFlow, EnergyIsThePairSum) {
  const std::size_t n = 100;
  const std::vector<double> state = random_sphere_tokens(n), weights = whole_weights(n, 7);
  for (const double beta : {0.0, 2.0, 40.0}) {
    const SphereFlow flow({.beta = beta}, weights);
    EXPECT_NEAR(flow.log_energy(state), log_pair_energy(state, 3, beta, weights), 1e-8) << beta;
  }
}

TEST(SphereFlow, RunsLikeDenseRows) {
  const std::size_t n = 200;
  const std::vector<double> state = random_sphere_tokens(n), weights = whole_weights(n, 7);
  for (const Rule rule : {Rule::softmax, Rule::unnormalised}) {
    const double time = rule == Rule::softmax ? 3 : 3 * std::exp(-6.0);
    SphereFlow flow({.rule = rule, .beta = 6, .accuracy = 1e-10}, weights);
    AttentionFlow dense = dense_flow(rule, 6, 3, weights);
    const std::vector<double> end = moved(flow, state, time, 1e-9);
    EXPECT_FALSE(std::is_sorted(flow.order().begin(), flow.order().end()));
    EXPECT_LT(farthest(end, moved(dense, state, time, 1e-9), 3), 1e-7) << name(rule);
  }
}

TEST(SphereFlow,
     FollowsTheClosedSolutionOfAPair) {  // beta = 0: tan(angle / 2) decays like e^{-t}
  const double angle = 2.0, time = 1.5;
  SphereFlow pair({.beta = 0}, 2);
  const std::vector<double> end =
      moved(pair, {0, std::cos(angle), std::sin(angle), 0, 1, 0}, time, 1e-10);
  const double inner = dot(std::span(end).first(3), std::span(end).last(3));
  const double expected = 2 * std::atan(std::tan(angle / 2) * std::exp(-time));
  EXPECT_NEAR(inner, std::cos(expected), 1e-8);
}

TEST(SphereFlow, ArrangesTokensOnlyWhenTheyAreScattered) {
  const std::size_t n = 60'000;
  SphereFlow flow({.beta = 20, .accuracy = 1e-5}, n);
  std::vector<double> state = random_sphere_tokens(n), out(3 * n);
  const std::vector<double> start = state;
  EXPECT_TRUE(flow.simplify(flow::Time(0), state));
  EXPECT_EQ(flow.expand(state), start);
  flow.drift(state, 0, out);
  EXPECT_FALSE(flow.simplify(flow::Time(0), state));
  flow.drift(start, 0, out);
  EXPECT_TRUE(flow.simplify(flow::Time(0), state = start));
}

TEST(SphereFlow, EnergyRisesAlongTheFlow) {
  SphereFlow flow({.beta = 10, .accuracy = 1e-9}, 1000);
  flow::Progress progress{.state = random_sphere_tokens(1000)};
  const flow::Plan plan{.end = flow::Time(15), .tolerance = 1e-5};
  expect_energy_rises(flow, plan, progress, 1e-7);
}

TEST(SphereFlow, SaysWhenTheMotionIsBelowItsAccuracy) {
  const std::size_t n = 500;
  SphereFlow flow({.beta = 60, .accuracy = 1e-9}, n);
  std::vector<double> out(3 * n), state = random_sphere_tokens(n);
  flow.drift(state, 0, out);
  EXPECT_TRUE(flow.resolves(1e-5));
  // Two clusters at a right angle pull at each other by e^{-60}.
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t c = 0; c < 3; ++c) state[3 * i + c] = c == i % 2 ? 1 : 0;
  flow.drift(state, 0, out);
  EXPECT_LT(flow.largest_speed(), 1e-8);
  EXPECT_FALSE(flow.resolves(0.1));
}

TEST(SphereFlow, ARunDoesNotDependOnTheThreads) {
  const std::size_t n = 30'000;
  expect_same_on_any_threads([&] {
    SphereFlow flow({.beta = 12, .accuracy = 1e-6}, n);
    return moved(flow, random_sphere_tokens(n), 0.5, 1e-4);
  });
}

TEST(SphereFlow, OneTokenRestsAndAStateThatIsNoneShows) {
  expect_one_token_rests(SphereFlow({.beta = 2}, 1), {0, 0, 1}, 1e-11);
  expect_no_state_shows(SphereFlow({.beta = 2}, 2), {0, 0, 1, 0, std::nan(""), 1});
}

TEST(SphereFlow, TakesWeightsOfAnySize) {
  const std::vector<double> state = random_sphere_tokens(4);
  std::vector<double> out(12), expected(12);
  const SphereFlow large({.beta = 90}, std::vector{1e308, 5e307, 1e308, 1e-300});
  const SphereFlow plain({.beta = 90}, std::vector{2.0, 1.0, 2.0, 1e-300});
  large.drift(state, 0, out);
  plain.drift(state, 0, expected);
  for (std::size_t i = 0; i < 12; ++i) EXPECT_NEAR(out[i], expected[i], 1e-10) << i;
}

TEST(SphereFlow, RefusesWhatIsOutOfRange) {
  EXPECT_THROW(SphereFlow({.beta = 2e4}, 3), Error);
  EXPECT_THROW(SphereFlow({.accuracy = 1e-15}, 3), Error);
  EXPECT_THROW(SphereFlow({}, std::size_t{0}), Error);
  EXPECT_THROW(SphereFlow({}, std::vector{1.0, 0.0}), Error);
  EXPECT_THROW(SphereFlow({}, std::vector{1.0, std::nan("")}), Error);
}

}  // namespace
}  // namespace attractor::depth
