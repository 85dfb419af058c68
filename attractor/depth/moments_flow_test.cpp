// Tokens flowing in four to eight dimensions in O(n) an evaluation, against dense rows.
#include "attractor/depth/moments_flow.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "attractor/base/error.hpp"
#include "tests/support/field_flows.hpp"
#include "tests/support/random_rows.hpp"

namespace attractor::depth {
namespace {

std::vector<double> moments_tokens(std::size_t count, std::size_t dim) {
  return unit_rows(normals_of("moments flow test", 4, count, dim), dim);
}

TEST(MomentsFlow, DriftAndIncrementAreThoseOfDenseRows) {
  const std::size_t n = 150;
  for (const std::size_t dim : {3U, 4U, 5U, 8U}) {
    const std::vector<double> state = moments_tokens(n, dim), weights = whole_weights(n, 4);
    for (const Rule rule : {Rule::softmax, Rule::unnormalised})
      for (const double beta : {0.0, 0.5, 4.0})
        for (const double accuracy : {1e-5, 1e-10}) {
          if (dim == 8 && beta == 4) continue;
          const MomentsFlow flow({.rule = rule, .beta = beta, .accuracy = accuracy, .dim = dim},
                                 weights);
          const AttentionFlow dense = dense_flow(rule, beta, dim, weights);
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
  const std::vector<double> state = moments_tokens(n, dim), weights = whole_weights(n, 4);
  for (const double beta : {0.0, 1.0, 3.0}) {
    const MomentsFlow flow({.beta = beta, .dim = dim}, weights);
    EXPECT_NEAR(flow.log_energy(state), log_pair_energy(state, dim, beta, weights), 1e-10) << beta;
  }
}

TEST(MomentsFlow, RunsLikeDenseRowsAndKeepsTheOrder) {
  const std::size_t n = 120, dim = 4;
  const std::vector<double> state = moments_tokens(n, dim), weights = whole_weights(n, 4);
  for (const Rule rule : {Rule::softmax, Rule::unnormalised}) {
    const double time = rule == Rule::softmax ? 5 : 5 * std::exp(-4.0);
    MomentsFlow flow({.rule = rule, .beta = 4, .accuracy = 1e-10, .dim = dim}, weights);
    AttentionFlow dense = dense_flow(rule, 4, dim, weights);
    const std::vector<double> end = moved(flow, state, time, 1e-9);
    EXPECT_TRUE(std::is_sorted(flow.order().begin(), flow.order().end()));
    EXPECT_LT(farthest(end, moved(dense, state, time, 1e-9), dim), 1e-7) << name(rule);
    EXPECT_EQ(flow.expand(end), end);
  }
}

TEST(MomentsFlow, EnergyRisesAlongTheFlow) {
  const std::size_t n = 300, dim = 5;
  MomentsFlow flow({.beta = 3, .accuracy = 1e-9, .dim = dim}, n);
  flow::Progress progress{.state = moments_tokens(n, dim)};
  const flow::Plan plan{.end = flow::Time(15), .tolerance = 1e-5};
  const double last = expect_energy_rises(flow, plan, progress, 1e-9);
  EXPECT_GT(last, 3 - std::log(6.0) - 0.1);  // nearly one cluster
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
  const std::size_t n = 3000, dim = 5;
  expect_same_on_any_threads([&] {
    MomentsFlow flow({.beta = 2, .accuracy = 1e-6, .dim = dim}, n);
    return moved(flow, moments_tokens(n, dim), 0.5, 1e-4);
  });
}

TEST(MomentsFlow, OneTokenRestsAndAStateThatIsNoneShows) {
  expect_one_token_rests(MomentsFlow({.beta = 2, .dim = 4}, 1), {0, 0, 0, 1}, 1e-11);
  expect_no_state_shows(MomentsFlow({.beta = 2, .dim = 4}, 2), {0, 0, 0, 1, 0, 0, std::nan(""), 1});
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
