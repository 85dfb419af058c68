// Tokens flowing on the sphere in O(n) an evaluation, against the dense rows and closed solutions.
#include "attractor/depth/sphere_flow.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "attractor/base/error.hpp"
#include "attractor/base/random.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/depth/attention_flow.hpp"
#include "attractor/flow/run.hpp"

namespace attractor::depth {
namespace {

std::vector<double> random_sphere_tokens(std::size_t count, std::uint64_t seed = 3) {
  std::vector<double> state(3 * count);
  const Stream stream(seed, "sphere flow test");
  for (std::size_t i = 0; i < count; ++i) {
    const std::span<double> x = std::span(state).subspan(3 * i, 3);
    stream.normals(i, x);
    Sphere(3).retract(x);
  }
  return state;
}

std::vector<double> sphere_weights(std::size_t count) {
  std::vector<double> w(count);
  for (std::size_t i = 0; i < count; ++i) w[i] = 1 + static_cast<double>(i % 7);
  return w;
}

/// Dense rows of the same tokens, each standing for as many as its weight says.
AttentionFlow dense_flow(Rule rule, double beta, const std::vector<double>& weights) {
  std::vector<std::uint32_t> owner;
  for (std::uint32_t i = 0; i < weights.size(); ++i)
    owner.insert(owner.end(), static_cast<std::size_t>(weights[i]), i);
  AttentionFlow flow({.rule = rule, .beta = beta, .dim = 3}, owner.size(), 0);
  flow.groups().restore(owner, {}, {}, 3);
  return flow;
}

/// Tokens by original number after a time.
template <class AnyFlow>
std::vector<double> moved(AnyFlow& flow, std::vector<double> state, double time, double tolerance) {
  flow::Progress progress{.state = std::move(state)};
  const flow::Plan plan{.end = flow::Time(time), .tolerance = tolerance};
  EXPECT_EQ(run(flow, flow::dormand_prince(), plan, progress, {}), flow::Status::complete);
  if constexpr (std::is_same_v<AnyFlow, SphereFlow>) return flow.expand(progress.state);
  return progress.state;
}

double largest_distance(const std::vector<double>& a, const std::vector<double>& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); i += 3)
    most = std::max(most, std::hypot(a[i] - b[i], a[i + 1] - b[i + 1], a[i + 2] - b[i + 2]));
  return most;
}

TEST(SphereFlow, DriftAndIncrementAreThoseOfDenseRows) {
  const std::size_t n = 300;
  const std::vector<double> state = random_sphere_tokens(n), weights = sphere_weights(n);
  for (const Rule rule : {Rule::softmax, Rule::unnormalised})
    for (const double beta : {0.0, 0.5, 9.0, 100.0})
      for (const double accuracy : {1e-5, 1e-10}) {
        const SphereFlow flow({.rule = rule, .beta = beta, .accuracy = accuracy}, weights);
        const AttentionFlow dense = dense_flow(rule, beta, weights);
        ASSERT_EQ(flow.log_unit(), dense.log_unit());
        std::vector<double> out(3 * n), truth(3 * n);
        for (const double unit : {flow.log_unit(), flow.log_unit() + 2}) {
          flow.drift(state, unit, out);
          dense.drift(state, unit, truth);
          const double allowed = flow.speed_error() * std::exp(unit - flow.log_unit());
          EXPECT_LE(largest_distance(out, truth), allowed) << name(rule) << ' ' << beta;
          flow.increment(state, unit, out);
          dense.increment(state, unit, truth);
          EXPECT_LE(largest_distance(out, truth), 2 * allowed) << name(rule) << ' ' << beta;
        }
      }
}

TEST(SphereFlow, EnergyIsThePairSum) {
  const std::size_t n = 100;
  const std::vector<double> state = random_sphere_tokens(n), weights = sphere_weights(n);
  for (const double beta : {0.0, 2.0, 40.0}) {
    double sum = 0, total = 0;
    for (const double w : weights) total += w;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        const double inner =
            dot(std::span(state).subspan(3 * i, 3), std::span(state).subspan(3 * j, 3));
        const double pair = beta == 0 ? inner / 2 : std::exp(beta * (inner - 1)) / (2 * beta);
        sum += weights[i] * weights[j] / (total * total) * pair;
      }
    const SphereFlow flow({.beta = beta}, weights);
    EXPECT_NEAR(flow.log_energy(state), beta + std::log(sum), 1e-8) << beta;
  }
}

TEST(SphereFlow, RunsLikeDenseRows) {
  const std::size_t n = 200;
  const std::vector<double> state = random_sphere_tokens(n), weights = sphere_weights(n);
  for (const Rule rule : {Rule::softmax, Rule::unnormalised}) {
    const double time = rule == Rule::softmax ? 3 : 3 * std::exp(-6.0);
    SphereFlow flow({.rule = rule, .beta = 6, .accuracy = 1e-10}, weights);
    AttentionFlow dense = dense_flow(rule, 6, weights);
    const std::vector<double> end = moved(flow, state, time, 1e-9);
    EXPECT_FALSE(std::is_sorted(flow.order().begin(), flow.order().end()));
    EXPECT_LT(largest_distance(end, moved(dense, state, time, 1e-9)), 1e-7) << name(rule);
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
  double before = -std::numeric_limits<double>::infinity();
  flow::Hooks hooks;
  hooks.step = [&](const flow::Step& step) {
    const double energy = flow.log_energy(step.after);
    EXPECT_GE(energy, before - 1e-7);
    before = energy;
  };
  const flow::Plan plan{.end = flow::Time(15), .tolerance = 1e-5};
  ASSERT_EQ(run(flow, flow::dormand_prince(), plan, progress, hooks), flow::Status::complete);
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
  const std::size_t n = 30'000, before = threads();
  std::vector<double> first;
  for (const std::size_t count : {1U, 2U, 3U}) {
    set_threads(count);
    SphereFlow flow({.beta = 12, .accuracy = 1e-6}, n);
    const std::vector<double> end = moved(flow, random_sphere_tokens(n), 0.5, 1e-4);
    if (first.empty()) first = end;
    EXPECT_EQ(end, first);
  }
  set_threads(before);
}

TEST(SphereFlow, OneTokenRestsAndAStateThatIsNoneShows) {
  SphereFlow one({.beta = 2}, 1);
  const std::vector<double> pole = {0, 0, 1};
  EXPECT_TRUE(one.at_rest(pole));
  std::vector<double> out(3, 7);
  one.drift(pole, 0, out);
  for (const double v : out) EXPECT_NEAR(v, 0, 1e-11);
  SphereFlow flow({.beta = 2}, 2);
  std::vector<double> two(6), state = {0, 0, 1, 0, std::nan(""), 1};
  EXPECT_FALSE(flow.simplify(flow::Time(0), state));
  flow.drift(state, 0, two);
  EXPECT_TRUE(std::isnan(two[0]));
  flow.increment(state, 0, two);
  EXPECT_TRUE(std::isnan(two[0]));
  EXPECT_TRUE(std::isnan(flow.log_energy(state)));
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
