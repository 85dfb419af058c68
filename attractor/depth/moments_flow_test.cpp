// Tokens flowing in four to eight dimensions in O(n) an evaluation, against dense rows.
#include "attractor/depth/moments_flow.hpp"

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

std::vector<double> moments_tokens(std::size_t count, std::size_t dim) {
  std::vector<double> state(dim * count);
  const Stream stream(4, "moments flow test");
  for (std::size_t i = 0; i < count; ++i) {
    const std::span<double> x = std::span(state).subspan(dim * i, dim);
    stream.normals(i, x);
    Sphere(dim).retract(x);
  }
  return state;
}

std::vector<double> whole_weights(std::size_t count) {
  std::vector<double> w(count);
  for (std::size_t i = 0; i < count; ++i) w[i] = 1 + static_cast<double>(i % 4);
  return w;
}

/// Dense rows of the same tokens, each standing for as many as its weight says.
AttentionFlow rows_of(Rule rule, double beta, std::size_t dim, const std::vector<double>& weights) {
  std::vector<std::uint32_t> owner;
  for (std::uint32_t i = 0; i < weights.size(); ++i)
    owner.insert(owner.end(), static_cast<std::size_t>(weights[i]), i);
  AttentionFlow flow({.rule = rule, .beta = beta, .dim = dim}, owner.size(), 0);
  flow.groups().restore(owner, {}, {}, 3);
  return flow;
}

double farthest(const std::vector<double>& a, const std::vector<double>& b, std::size_t dim) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); i += dim) {
    double square = 0;
    for (std::size_t c = i; c < i + dim; ++c) square += (a[c] - b[c]) * (a[c] - b[c]);
    most = std::max(most, std::sqrt(square));
  }
  return most;
}

std::vector<double> after(flow::Flow& flow, std::vector<double> state, double time,
                          double tolerance) {
  flow::Progress progress{.state = std::move(state)};
  const flow::Plan plan{.end = flow::Time(time), .tolerance = tolerance};
  EXPECT_EQ(run(flow, flow::dormand_prince(), plan, progress, {}), flow::Status::complete);
  return progress.state;
}

TEST(MomentsFlow, DriftAndIncrementAreThoseOfDenseRows) {
  const std::size_t n = 150;
  for (const std::size_t dim : {3U, 4U, 5U, 8U}) {
    const std::vector<double> state = moments_tokens(n, dim), weights = whole_weights(n);
    for (const Rule rule : {Rule::softmax, Rule::unnormalised})
      for (const double beta : {0.0, 0.5, 4.0})
        for (const double accuracy : {1e-5, 1e-10}) {
          if (dim == 8 && beta == 4) continue;
          const MomentsFlow flow({.rule = rule, .beta = beta, .accuracy = accuracy, .dim = dim},
                                 weights);
          const AttentionFlow dense = rows_of(rule, beta, dim, weights);
          ASSERT_EQ(flow.log_unit(), dense.log_unit());
          std::vector<double> out(dim * n), truth(dim * n);
          for (const double unit : {flow.log_unit(), flow.log_unit() + 2}) {
            flow.drift(state, unit, out);
            dense.drift(state, unit, truth);
            EXPECT_LE(flow.speed_error(), accuracy);
            const double allowed = flow.speed_error() * std::exp(unit - flow.log_unit());
            EXPECT_LE(farthest(out, truth, dim), allowed) << name(rule) << ' ' << beta;
            flow.increment(state, unit, out);
            dense.increment(state, unit, truth);
            EXPECT_LE(farthest(out, truth, dim), 2 * allowed) << name(rule) << ' ' << beta;
          }
        }
  }
}

TEST(MomentsFlow, EnergyIsThePairSum) {
  const std::size_t n = 100, dim = 6;
  const std::vector<double> state = moments_tokens(n, dim), weights = whole_weights(n);
  for (const double beta : {0.0, 1.0, 3.0}) {
    double sum = 0, total = 0;
    for (const double w : weights) total += w;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        const double inner =
            dot(std::span(state).subspan(dim * i, dim), std::span(state).subspan(dim * j, dim));
        const double pair = beta == 0 ? inner / 2 : std::exp(beta * (inner - 1)) / (2 * beta);
        sum += weights[i] * weights[j] / (total * total) * pair;
      }
    const MomentsFlow flow({.beta = beta, .dim = dim}, weights);
    EXPECT_NEAR(flow.log_energy(state), beta + std::log(sum), 1e-10) << beta;
  }
}

TEST(MomentsFlow, RunsLikeDenseRowsAndKeepsTheOrder) {
  const std::size_t n = 120, dim = 4;
  const std::vector<double> state = moments_tokens(n, dim), weights = whole_weights(n);
  for (const Rule rule : {Rule::softmax, Rule::unnormalised}) {
    const double time = rule == Rule::softmax ? 5 : 5 * std::exp(-4.0);
    MomentsFlow flow({.rule = rule, .beta = 4, .accuracy = 1e-10, .dim = dim}, weights);
    AttentionFlow dense = rows_of(rule, 4, dim, weights);
    const std::vector<double> end = after(flow, state, time, 1e-9);
    EXPECT_TRUE(std::is_sorted(flow.order().begin(), flow.order().end()));
    EXPECT_LT(farthest(end, after(dense, state, time, 1e-9), dim), 1e-7) << name(rule);
    EXPECT_EQ(flow.expand(end), end);
  }
}

TEST(MomentsFlow, EnergyRisesAlongTheFlow) {
  const std::size_t n = 300, dim = 5;
  MomentsFlow flow({.beta = 3, .accuracy = 1e-9, .dim = dim}, n);
  flow::Progress progress{.state = moments_tokens(n, dim)};
  double before = -std::numeric_limits<double>::infinity();
  flow::Hooks hooks;
  hooks.step = [&](const flow::Step& step) {
    const double energy = flow.log_energy(step.after);
    EXPECT_GE(energy, before - 1e-9);
    before = energy;
  };
  const flow::Plan plan{.end = flow::Time(15), .tolerance = 1e-5};
  ASSERT_EQ(run(flow, flow::dormand_prince(), plan, progress, hooks), flow::Status::complete);
  EXPECT_GT(before, 3 - std::log(6.0) - 0.1);  // nearly one cluster
}

TEST(MomentsFlow, SaysWhenTheMotionIsBelowItsAccuracy) {
  const std::size_t n = 100, dim = 4;
  MomentsFlow flow({.beta = 20, .accuracy = 1e-7, .dim = dim}, n);
  std::vector<double> out(dim * n), state = moments_tokens(n, dim);
  flow.drift(state, 0, out);
  EXPECT_TRUE(flow.resolves(1e-5));
  // Two clusters at a right angle pull at each other by e^{-20}.
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t c = 0; c < dim; ++c) state[dim * i + c] = c == i % 2 ? 1 : 0;
  flow.drift(state, 0, out);
  EXPECT_FALSE(flow.resolves(0.01));
}

TEST(MomentsFlow, ARunDoesNotDependOnTheThreads) {
  const std::size_t n = 3000, dim = 5, before = threads();
  std::vector<double> first;
  for (const std::size_t count : {1U, 2U, 3U}) {
    set_threads(count);
    MomentsFlow flow({.beta = 2, .accuracy = 1e-6, .dim = dim}, n);
    const std::vector<double> end = after(flow, moments_tokens(n, dim), 0.5, 1e-4);
    if (first.empty()) first = end;
    EXPECT_EQ(end, first);
  }
  set_threads(before);
}

TEST(MomentsFlow, OneTokenRestsAndAStateThatIsNoneShows) {
  MomentsFlow one({.beta = 2, .dim = 4}, 1);
  const std::vector<double> pole = {0, 0, 0, 1};
  EXPECT_TRUE(one.at_rest(pole));
  std::vector<double> out(4, 7);
  one.drift(pole, 0, out);
  for (const double v : out) EXPECT_NEAR(v, 0, 1e-11);
  MomentsFlow flow({.beta = 2, .dim = 4}, 2);
  std::vector<double> two(8), state = {0, 0, 0, 1, 0, 0, std::nan(""), 1};
  EXPECT_FALSE(flow.simplify(flow::Time(0), state));
  flow.drift(state, 0, two);
  EXPECT_TRUE(std::isnan(two[0]));
  flow.increment(state, 0, two);
  EXPECT_TRUE(std::isnan(two[0]));
  EXPECT_TRUE(std::isnan(flow.log_energy(state)));
}

TEST(MomentsFlow, TakesWeightsOfAnySize) {
  const std::vector<double> state = moments_tokens(4, 5);
  std::vector<double> out(20), expected(20);
  const MomentsFlow large({.beta = 3, .dim = 5}, std::vector{1e308, 5e307, 1e308, 1e-300});
  const MomentsFlow plain({.beta = 3, .dim = 5}, std::vector{2.0, 1.0, 2.0, 1e-300});
  large.drift(state, 0, out);
  plain.drift(state, 0, expected);
  for (std::size_t i = 0; i < 20; ++i) EXPECT_NEAR(out[i], expected[i], 1e-11) << i;
}

TEST(MomentsFlow, RefusesWhatIsOutOfRange) {
  EXPECT_THROW(MomentsFlow({.beta = 200, .dim = 4}, 3), Error);
  EXPECT_THROW(MomentsFlow({.accuracy = 1e-15, .dim = 4}, 3), Error);
  EXPECT_THROW(MomentsFlow({.dim = 9}, 3), Error);
  EXPECT_THROW(MomentsFlow({.beta = 30, .dim = 8}, 3), Error);
  EXPECT_THROW(MomentsFlow({.dim = 4}, std::size_t{0}), Error);
  EXPECT_THROW(MomentsFlow({.dim = 4}, std::vector{1.0, 0.0}), Error);
}

}  // namespace
}  // namespace attractor::depth
