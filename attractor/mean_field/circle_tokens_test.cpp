// Tokens on the circle against closed solutions, the labelled mean field of theory.md A2, and the
// O(n^2) engine.
#include "attractor/mean_field/circle_tokens.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "attractor/base/error.hpp"
#include "attractor/base/random.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/depth/attention_flow.hpp"
#include "attractor/flow/run.hpp"
#include "tests/support/moved.hpp"

namespace attractor::meanfield {
namespace {

using std::numbers::pi;

std::vector<double> labels(std::size_t count, double amplitude) {
  std::vector<double> angles;
  for (std::size_t i = 0; i < count; ++i) {
    const double turn = 2 * pi * (static_cast<double>(i) + 0.5) / static_cast<double>(count);
    angles.push_back(turn + amplitude * std::sin(turn));
  }
  return angles;
}

/// Quantiles of the wrapped Cauchy law with |m_1| = order.
std::vector<double> cauchy_labels(std::size_t count, double order) {
  std::vector<double> angles;
  for (std::size_t i = 0; i < count; ++i) {
    const double u = (static_cast<double>(i) + 0.5) / static_cast<double>(count);
    angles.push_back(2 * std::atan((1 - order) / (1 + order) * std::tan(pi * (u - 0.5))));
  }
  return angles;
}

std::vector<double> random_angles(std::size_t count) {
  std::vector<double> angles(count);
  const Stream stream(3, "circle tokens test");
  for (std::size_t i = 0; i < count; ++i) angles[i] = 2 * pi * stream.uniform(i, 0);
  return angles;
}

TEST(CircleTokens, MoveAlongTheOttAntonsenSolution) {
  CircleTokens flow({.beta = 0}, 4096);
  for (const auto& [time, order] : {std::pair{1.0, 0.4603034049690}, {3.0, 0.8155720884373}}) {
    const std::vector<double> end = moved(flow, cauchy_labels(4096, 0.3), time, 1e-13);
    EXPECT_NEAR(std::abs(flow.moments(end, 2)[1]), order, 1e-12) << time;
  }
}

TEST(CircleTokens, TwoOfThemMeetInClosedForm) {
  for (const Rule rule : {Rule::softmax, Rule::unnormalised}) {
    CircleTokens flow({.rule = rule, .beta = 0}, 2);
    const std::vector<double> end = moved(flow, {0.0, 2.0}, 1.5, 1e-13);
    EXPECT_NEAR(end[1] - end[0], 0.6689000994797, 1e-11);
    EXPECT_NEAR(end[1] - end[0], 2 * std::atan(std::tan(1.0) * std::exp(-1.5)), 1e-12);
  }
}

struct LabelledTokens {
  Rule rule;
  double beta, time, order;
};

TEST(CircleTokens, LabelsGiveTheMeanFieldOfTheoryA2) {
  const LabelledTokens cases[] = {
      {Rule::softmax, 0, 0, 0.2422684576749}, {Rule::softmax, 0, 1, 0.3715773138682},
      {Rule::softmax, 1, 1, 0.3575110455509}, {Rule::unnormalised, 1, 1, 0.3967536386277},
      {Rule::softmax, 4, 1, 0.2958528176843}, {Rule::unnormalised, 4, 0.1, 0.3093931020249},
  };
  for (const LabelledTokens& c : cases)
    for (const std::size_t count : {256U, 512U}) {
      CircleTokens flow({.rule = c.rule, .beta = c.beta}, count);
      const std::vector<double> end = moved(flow, labels(count, 0.5), c.time, 1e-13);
      EXPECT_NEAR(std::abs(flow.moments(end, 2)[1]), c.order, 2e-12)
          << name(c.rule) << " beta " << c.beta << " labels " << count;
    }
}

TEST(CircleTokens, DriftIsThatOfTheSphereInTwoDimensions) {
  for (const Rule rule : {Rule::softmax, Rule::unnormalised})
    for (const double beta : {1e-3, 1.0, 9.0, 100.0, 4000.0})
      for (const std::size_t count : {1U, 3U, 13U}) {
        const std::vector<double> angles = random_angles(count);
        std::vector<double> points, expected(2 * count), out(count);
        for (double a : angles) points.insert(points.end(), {std::cos(a), std::sin(a)});
        const CircleTokens flow({.rule = rule, .beta = beta}, count);
        const depth::AttentionFlow sphere({.rule = rule, .beta = beta, .dim = 2}, count, 0);
        ASSERT_EQ(flow.log_unit(), sphere.log_unit());
        flow.drift(angles, flow.log_unit(), out);
        sphere.drift(points, sphere.log_unit(), expected);
        for (std::size_t i = 0; i < count; ++i) {
          const double tangent =
              -std::sin(angles[i]) * expected[2 * i] + std::cos(angles[i]) * expected[2 * i + 1];
          EXPECT_NEAR(out[i], tangent, 2e-14 * std::sqrt(1 + beta))
              << name(rule) << " beta " << beta << " tokens " << count;
        }
      }
}

TEST(CircleTokens, AWeightOfTwoIsTwoTokens) {
  const CircleAttention attention{.beta = 3};
  const std::vector<double> angles = {0.1, 1.2, 2.9}, repeated = {0.1, 1.2, 1.2, 2.9};
  std::vector<double> weighted_out(3), out(4);
  const CircleTokens weighted(attention, {1, 2, 1}), equal(attention, 4);
  weighted.drift(angles, 0, weighted_out);
  equal.drift(repeated, 0, out);
  EXPECT_NEAR(weighted_out[0], out[0], 1e-15);
  EXPECT_NEAR(weighted_out[1], out[2], 1e-15);
  EXPECT_NEAR(weighted.log_energy(angles), equal.log_energy(repeated), 1e-14);
}

TEST(CircleTokens, EnergyIsThePairSum) {
  const std::vector<double> angles = random_angles(9);
  for (const double beta : {0.5, 20.0}) {
    double sum = 0;
    for (double a : angles)
      for (double b : angles) sum += std::exp(beta * std::cos(a - b)) / (2 * beta * 81);
    EXPECT_NEAR(CircleTokens({.beta = beta}, 9).log_energy(angles), std::log(sum), 1e-13);
  }
  EXPECT_NEAR(CircleTokens({.beta = 0}, 2).log_energy(std::vector{0.0, 1.0}),
              std::log((1 + std::cos(1.0)) / 4), 1e-14);
}

TEST(CircleTokens, NothingDependsOnTheThreads) {
  const std::size_t count = 10'001, before = threads();
  const std::vector<double> angles = random_angles(count);
  const CircleTokens flow({.beta = 25}, count);
  std::vector<double> one(count), three(count);
  set_threads(1);
  flow.drift(angles, 0, one);
  set_threads(3);
  flow.drift(angles, 0, three);
  set_threads(before);
  EXPECT_EQ(one, three);
}

TEST(CircleTokens, StayInRangeAtExtremeBeta) {
  const std::vector<double> angles = {0, 1e-3, 3};
  std::vector<double> out(3);
  for (const Rule rule : {Rule::softmax, Rule::unnormalised}) {
    const CircleTokens flow({.rule = rule, .beta = 1e6}, 3);
    flow.drift(angles, flow.log_unit(), out);
    const double pair = std::exp(1e6 * (std::cos(1e-3) - 1));
    const double factor = rule == Rule::softmax ? 1 / (1 + pair) : 1.0 / 3;
    EXPECT_NEAR(out[0], factor * pair * std::sin(1e-3), 1e-11);
    EXPECT_NEAR(out[2], 0, 1e-11);
    EXPECT_TRUE(std::isfinite(flow.log_energy(angles)));
  }
}

TEST(CircleTokens, RefuseWeightsThatAreNone) {
  EXPECT_THROW(CircleTokens({}, std::vector{1.0, 0.0}), Error);
  EXPECT_THROW(CircleTokens({}, std::vector{1.0, std::nan("")}), Error);
  EXPECT_THROW(CircleTokens({}, std::size_t{0}), Error);
}

TEST(CircleTokens, AStoppedDriftIsNoNumber) {
  CircleTokens tokens({.beta = 4}, 5000);
  std::vector<double> angles(5000, 0.5), drift(5000, 1.0);
  tokens.stop_when([] { return true; });
  tokens.drift(angles, 0, drift);
  for (const double speed : drift) EXPECT_TRUE(std::isnan(speed));
  tokens.stop_when({});
  tokens.drift(angles, 0, drift);
  for (const double speed : drift) EXPECT_NEAR(speed, 0, 1e-15);
}

}  // namespace
}  // namespace attractor::meanfield
