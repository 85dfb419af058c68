// Tokens flowing on the circle in O(n) an evaluation, against the O(nK) sums, the dense rows,
// closed solutions and the labelled mean field of theory.md A2.
#include "attractor/depth/circle_flow.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "attractor/base/error.hpp"
#include "attractor/base/random.hpp"
#include "attractor/mean_field/circle_tokens.hpp"
#include "tests/support/field_flows.hpp"

namespace attractor::depth {
namespace {

using std::numbers::pi;

std::vector<double> random_angles(std::size_t count, std::uint64_t seed = 3) {
  std::vector<double> angles(count);
  const Stream stream(seed, "circle flow test");
  for (std::size_t i = 0; i < count; ++i) angles[i] = 4 * pi * stream.uniform(i, 0) - 5;
  return angles;
}

std::vector<double> sorted_angles(std::size_t count) {
  std::vector<double> angles = random_angles(count);
  for (double& a : angles) a = std::remainder(a, 2 * pi);
  std::sort(angles.begin(), angles.end());
  return angles;
}

double order_parameter(std::span<const double> angles) {
  double x = 0, y = 0;
  for (double a : angles) x += std::cos(a), y += std::sin(a);
  return std::hypot(x, y) / static_cast<double>(angles.size());
}

double on_circle(double a, double b) { return std::abs(std::remainder(a - b, 2 * pi)); }

TEST(CircleFlow, DriftAndEnergyAreThoseOfTheFourierSums) {
  const std::size_t n = 500;
  const std::vector<double> unsorted = random_angles(n), sorted = sorted_angles(n);
  for (const Rule rule : {Rule::softmax, Rule::unnormalised})
    for (const double beta : {0.0, 1e-3, 1.0, 30.0, 4000.0}) {
      const CircleFlow flow({.rule = rule, .beta = beta}, whole_weights(n, 7));
      const meanfield::CircleTokens expected({.rule = rule, .beta = beta}, whole_weights(n, 7));
      ASSERT_EQ(flow.log_unit(), expected.log_unit());
      for (const auto& angles : {unsorted, sorted})
        for (const double unit : {flow.log_unit(), flow.log_unit() + 2}) {
          std::vector<double> out(n), truth(n);
          flow.drift(angles, unit, out);
          expected.drift(angles, unit, truth);
          const double allowed = 1e-12 + flow.speed_error() * std::exp(unit - flow.log_unit());
          for (std::size_t i = 0; i < n; ++i)
            ASSERT_NEAR(out[i], truth[i], allowed) << name(rule) << ' ' << beta << ' ' << i;
          EXPECT_NEAR(flow.log_energy(angles), expected.log_energy(angles), 1e-9) << beta;
        }
    }
}

TEST(CircleFlow, DriftIsThatOfTheSphereInTwoDimensions) {
  const std::size_t n = 60;
  const std::vector<double> angles = random_angles(n);
  std::vector<double> points, out(n), dense(2 * n);
  for (double a : angles) points.insert(points.end(), {std::cos(a), std::sin(a)});
  for (const Rule rule : {Rule::softmax, Rule::unnormalised})
    for (const double beta : {0.5, 9.0, 100.0}) {
      const CircleFlow flow({.rule = rule, .beta = beta}, n);
      const AttentionFlow sphere({.rule = rule, .beta = beta, .dim = 2}, n, 0);
      flow.drift(angles, flow.log_unit(), out);
      sphere.drift(points, sphere.log_unit(), dense);
      for (std::size_t i = 0; i < n; ++i) {
        const double tangent =
            -std::sin(angles[i]) * dense[2 * i] + std::cos(angles[i]) * dense[2 * i + 1];
        EXPECT_NEAR(out[i], tangent, flow.speed_error()) << name(rule) << ' ' << beta;
      }
    }
}

TEST(CircleFlow, SortsOnceAndKeepsTheNumbersOfTokens) {
  const std::size_t n = 300;
  const std::vector<double> start = random_angles(n);
  CircleFlow flow({.beta = 6}, whole_weights(n, 7));
  meanfield::CircleTokens expected({.beta = 6}, whole_weights(n, 7));
  const std::vector<double> end = moved(flow, start, 3), truth = moved(expected, start, 3);
  EXPECT_FALSE(std::is_sorted(flow.order().begin(), flow.order().end()));
  for (std::size_t i = 0; i < n; ++i) EXPECT_LT(on_circle(end[i], truth[i]), 1e-9) << i;
}

TEST(CircleFlow, SortsAgainOnlyWhenOrderIsLost) {
  const std::size_t n = 200;
  CircleFlow flow({.beta = 3}, n);
  std::vector<double> state = sorted_angles(n), out(n);
  EXPECT_FALSE(flow.simplify(flow::Time(0), state));
  flow.drift(state, 0, out);
  EXPECT_FALSE(flow.simplify(flow::Time(0), state));
  std::swap(state[10], state[150]);
  flow.drift(state, 0, out);
  EXPECT_TRUE(flow.simplify(flow::Time(0), state));
  EXPECT_TRUE(std::is_sorted(state.begin(), state.end()));
  EXPECT_EQ(flow.order()[10], 150U);
  EXPECT_EQ(flow.order()[150], 10U);
}

TEST(CircleFlow, LabelsGiveTheMeanFieldOfTheoryA2) {
  struct Case {
    Rule rule;
    double beta, time, order;
  };
  const Case cases[] = {
      {Rule::softmax, 0, 1, 0.3715773138682},        {Rule::softmax, 1, 1, 0.3575110455509},
      {Rule::unnormalised, 1, 1, 0.3967536386277},   {Rule::softmax, 4, 1, 0.2958528176843},
      {Rule::unnormalised, 4, 0.1, 0.3093931020249},
  };
  const std::size_t n = 512;
  std::vector<double> labels(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double turn = 2 * pi * (static_cast<double>(i) + 0.5) / static_cast<double>(n);
    labels[i] = turn + 0.5 * std::sin(turn);
  }
  for (const Case& c : cases) {
    CircleFlow flow({.rule = c.rule, .beta = c.beta}, n);
    EXPECT_NEAR(order_parameter(moved(flow, labels, c.time)), c.order, 1e-11)
        << name(c.rule) << ' ' << c.beta;
  }
}

TEST(CircleFlow, FollowsClosedSolutionsOfKuramoto) {
  CircleFlow pair({.beta = 0}, 2);
  const std::vector<double> end = moved(pair, {2.0, 0.0}, 1.5);
  EXPECT_NEAR(end[0] - end[1], 0.6689000994797, 1e-11);

  const std::size_t n = 2048;  // the wrapped Cauchy law: R^2 / (1 - R^2) grows like e^t
  std::vector<double> cauchy(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double u = (static_cast<double>(i) + 0.5) / static_cast<double>(n);
    cauchy[i] = 2 * std::atan(0.7 / 1.3 * std::tan(pi * (u - 0.5)));
  }
  CircleFlow flow({.beta = 0}, n);
  EXPECT_NEAR(order_parameter(moved(flow, cauchy, 1)), 0.4603034049690, 1e-11);
}

TEST(CircleFlow, EnergyRisesAlongTheFlow) {
  CircleFlow flow({.beta = 20}, 2000);
  flow::Progress progress{.state = random_angles(2000)};
  const flow::Plan plan{.end = flow::Time(30), .tolerance = 1e-6};
  expect_energy_rises(flow, plan, progress, 1e-11);
  EXPECT_LT(distinct_on_circle(progress.state, 1e-6), 20U);
}

TEST(CircleFlow, SaysWhenTheMotionIsBelowItsAccuracy) {
  CircleFlow flow({.beta = 60}, 1000);
  std::vector<double> out(1000), angles = sorted_angles(1000);
  flow.drift(angles, 0, out);
  EXPECT_TRUE(flow.resolves(1e-6));
  // Two clusters a third of a turn apart pull at each other by e^{-90}.
  for (std::size_t i = 0; i < 1000; ++i) angles[i] = i < 500 ? 0 : 2 * pi / 3;
  flow.drift(angles, 0, out);
  EXPECT_LT(flow.largest_speed(), 1e-11);
  EXPECT_FALSE(flow.resolves(0.1));
}

TEST(CircleFlow, ARunDoesNotDependOnTheThreads) {
  const std::size_t n = 40'000;
  expect_same_on_any_threads([&] {
    CircleFlow flow({.beta = 12, .accuracy = 1e-8}, n);
    return moved(flow, random_angles(n), 1, 1e-4);
  });
}

TEST(CircleFlow, OneTokenRestsAndAStateThatIsNoneShows) {
  expect_one_token_rests(CircleFlow({.beta = 2}, 1), {0.3}, 1e-12);
  expect_no_state_shows(CircleFlow({.beta = 2}, 3), {0, std::nan(""), 1});
}

TEST(CircleFlow, TakesWeightsOfAnySize) {
  const std::vector<double> angles = {0, 0.2, 1, 3};
  std::vector<double> out(4), expected(4);
  CircleFlow large({.beta = 900}, std::vector{1e308, 5e307, 1e308, 1e-300});
  CircleFlow plain({.beta = 900}, std::vector{2.0, 1.0, 2.0, 1e-300});
  large.drift(angles, 0, out);
  plain.drift(angles, 0, expected);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(out[i], expected[i], 1e-11) << i;
}

TEST(CircleFlow, SortsWeightsWithTheirTokens) {
  for (const std::size_t n : {3U, 40U, 500U}) {
    const std::vector<double> angles = random_angles(n), weights = whole_weights(n, 7);
    std::vector<double> tokens, out(n), truth(n);
    for (const double a : angles) tokens.insert(tokens.end(), {std::cos(a), std::sin(a)});
    CircleFlow flow({.beta = 5}, weights);
    flow.drift(flow.begin(tokens), 0, out);
    meanfield::CircleTokens({.beta = 5}, weights).drift(angles, 0, truth);
    for (std::size_t i = 0; i < n; ++i)
      EXPECT_NEAR(out[flow.groups().owner()[i]], truth[i], 1e-11) << n << ' ' << i;
  }
}

TEST(CircleFlow, CountsDistinctTokens) {
  const std::vector<double> angles = {-3.1, -1.0, -0.9999, 0.0, 1e-5, 3.1};
  EXPECT_EQ(distinct_on_circle(angles, 1e-6), 6U);
  EXPECT_EQ(distinct_on_circle(angles, 1e-3), 4U);
  EXPECT_EQ(distinct_on_circle(angles, 0.1), 3U);  // across the end of the turn
  EXPECT_EQ(distinct_on_circle(angles, 7), 1U);
  EXPECT_EQ(distinct_on_circle({}, 1), 0U);
}

TEST(CircleFlow, RefusesWhatIsOutOfRange) {
  EXPECT_THROW(CircleFlow({.beta = 2e4}, 3), Error);
  EXPECT_THROW(CircleFlow({.accuracy = 1e-15}, 3), Error);
  EXPECT_THROW(CircleFlow({}, std::size_t{0}), Error);
  EXPECT_THROW(CircleFlow({}, std::vector{1.0, 0.0}), Error);
  EXPECT_THROW(CircleFlow({}, std::vector{1.0, std::nan("")}), Error);
}

}  // namespace
}  // namespace attractor::depth
