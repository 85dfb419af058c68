// Flows in O(n) on the circle, the sphere and by moments: what their tests ask of each of them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "attractor/base/threads.hpp"
#include "attractor/depth/attention_flow.hpp"
#include "attractor/flow/run.hpp"
#include "attractor/space/space.hpp"
#include "tests/support/moved.hpp"

namespace attractor::depth {

/// 1, 2, .. largest, 1, ..
inline std::vector<double> whole_weights(std::size_t count, std::size_t largest) {
  std::vector<double> w(count);
  for (std::size_t i = 0; i < count; ++i) w[i] = 1 + static_cast<double>(i % largest);
  return w;
}

/// Dense rows of the same tokens, each standing for as many as its weight says.
inline AttentionFlow dense_flow(Rule rule, double beta, std::size_t dim,
                                const std::vector<double>& weights) {
  std::vector<std::uint32_t> owner;
  for (std::uint32_t i = 0; i < weights.size(); ++i)
    owner.insert(owner.end(), static_cast<std::size_t>(weights[i]), i);
  AttentionFlow flow({.rule = rule, .beta = beta, .dim = dim}, owner.size(), 0);
  flow.groups().restore(owner, {}, {}, dim);
  return flow;
}

/// The largest distance between rows of the same number.
inline double farthest(const std::vector<double>& a, const std::vector<double>& b,
                       std::size_t dim) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); i += dim)
    most = std::max(most, std::sqrt(squared_distance(std::span(a).subspan(i, dim),
                                                     std::span(b).subspan(i, dim))));
  return most;
}

/// ln of (1/2 beta) sum_ij w_i w_j e^{beta <x_i, x_j>}, weights of sum 1; beta = 0: of |mean|^2
/// / 2.
inline double log_pair_energy(const std::vector<double>& state, std::size_t dim, double beta,
                              const std::vector<double>& weights) {
  double sum = 0, total = 0;
  for (const double w : weights) total += w;
  for (std::size_t i = 0; i < weights.size(); ++i)
    for (std::size_t j = 0; j < weights.size(); ++j) {
      const double inner =
          dot(std::span(state).subspan(dim * i, dim), std::span(state).subspan(dim * j, dim));
      const double pair = beta == 0 ? inner / 2 : std::exp(beta * (inner - 1)) / (2 * beta);
      sum += weights[i] * weights[j] / (total * total) * pair;
    }
  return beta + std::log(sum);
}

/// Runs to the end of the plan; ln of the energy never falls by more than `slack`. Returns the
/// last.
template <class AnyFlow>
double expect_energy_rises(AnyFlow& flow, const flow::Plan& plan, flow::Progress& progress,
                           double slack) {
  double before = -std::numeric_limits<double>::infinity();
  flow::Hooks hooks;
  hooks.step = [&](const flow::Step& step) {
    const double energy = flow.log_energy(step.after);
    EXPECT_GE(energy, before - slack);
    before = energy;
  };
  EXPECT_EQ(run(flow, flow::dormand_prince(), plan, progress, hooks), flow::Status::complete);
  return before;
}

template <class AnyFlow>
void expect_one_token_rests(AnyFlow flow, const std::vector<double>& token, double slack) {
  EXPECT_TRUE(flow.at_rest(token));
  std::vector<double> out(token.size(), 7);
  flow.drift(token, 0, out);
  for (const double v : out) EXPECT_NEAR(v, 0, slack);
}

/// A state with a NaN in it.
template <class AnyFlow>
void expect_no_state_shows(AnyFlow flow, std::vector<double> state) {
  std::vector<double> out(state.size());
  EXPECT_FALSE(flow.simplify(flow::Time(0), state));
  flow.drift(state, 0, out);
  EXPECT_TRUE(std::isnan(out[0]));
  if (flow.has_increments()) {
    flow.increment(state, 0, out);
    EXPECT_TRUE(std::isnan(out[0]));
  }
  EXPECT_TRUE(std::isnan(flow.log_energy(state)));
}

/// compute() gives the same on one, two and three threads.
template <class Compute>
void expect_same_on_any_threads(const Compute& compute) {
  const std::size_t before = threads();
  set_threads(1);
  const auto first = compute();
  for (const std::size_t count : {2U, 3U}) {
    set_threads(count);
    EXPECT_EQ(compute(), first) << count << " threads";
  }
  set_threads(before);
}

}  // namespace attractor::depth
