// Equilibria of tokens: seen, with the rate at which a perturbation leaves them, and not where a
// motion is slow only.
#include "attractor/depth/balance.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "attractor/depth/attention_flow.hpp"
#include "attractor/flow/growth.hpp"
#include "attractor/flow/run.hpp"

namespace attractor::depth {
namespace {

std::vector<double> tetrahedron() {
  const double c = 1 / std::sqrt(3.0);
  return {c, c, c, c, -c, -c, -c, c, -c, -c, -c, c};
}

std::vector<double> at_angles(const std::vector<double>& angles) {
  std::vector<double> x;
  for (const double a : angles) x.insert(x.end(), {std::cos(a), std::sin(a)});
  return x;
}

struct End {
  flow::Status status;
  flow::Progress progress;
};

End endless(AttentionFlow& flow, std::vector<double> start, std::uint64_t steps = 20'000) {
  End end{.status = flow::Status::complete, .progress = {.state = std::move(start)}};
  end.status = flow::run(flow, flow::dormand_prince(), {.max_steps = steps}, end.progress, {});
  return end;
}

TEST(Balance, TheTetrahedronIsAnEquilibriumThatPerturbationsLeave) {
  for (const Rule rule : {Rule::softmax, Rule::unnormalised})
    for (const double beta : {0.5, 1.0, 3.0, 40.0, 900.0}) {
      AttentionFlow flow({.rule = rule, .beta = beta, .dim = 3}, 4, 1e-6);
      const End end = endless(flow, tetrahedron());
      ASSERT_EQ(end.status, flow::Status::at_equilibrium) << name(rule) << beta;
      EXPECT_EQ(flow.groups().count(), 4U);
      const flow::Growth growth =
          flow::growth_of_perturbations(flow, end.progress.state, end.progress.log_unit);
      ASSERT_TRUE(growth.grows());
      // Turning one pair towards each other and the other as well: eps e^{+-} breaks no symmetry of
      // the plane of both, and its rate follows from the velocities at a small distance.
      std::vector<double> moved = tetrahedron(), v(12);
      const double by = 1e-7;
      for (std::size_t i = 0; i < 12; i += 3) moved[i] += moved[i] > 0 ? by : -by;
      const Sphere sphere(3);
      for (std::size_t i = 0; i < 12; i += 3) sphere.retract(std::span(moved).subspan(i, 3));
      flow.drift(moved, end.progress.log_unit, v);
      const double pair = norm(std::span(v).first(3)) / (by * std::sqrt(2.0 / 3));
      EXPECT_GE(growth.rate, pair * (1 - 1e-4)) << name(rule) << beta;
    }
}

TEST(Balance, TheTetrahedronIsLeftAtTheRateOfTheReduction) {
  for (const auto& [beta, rate] :
       {std::pair{1.0, 0.6542039607091671}, {3.0, 0.13889334979329168}}) {
    const AttentionFlow flow({.beta = beta, .dim = 3}, 4, 0);  // `reduce clusters --shape simplex`
    EXPECT_NEAR(flow::growth_of_perturbations(flow, tetrahedron(), 0).rate / rate, 1, 1e-6);
  }
}

// An antipodal pair leaves at 2/(1 + e^{2 beta}) (SA) or e^{-beta} (USA): theory A5.
TEST(Balance, AnAntipodalPairLeavesAtTheRateOfTheTheory) {
  for (const double beta : {0.5, 3.0, 30.0, 700.0}) {
    const auto rate = [&](Rule rule) {
      AttentionFlow flow({.rule = rule, .beta = beta, .dim = 2}, 2, 1e-6);
      const End end = endless(flow, {0.6, 0.8, -0.6, -0.8});
      EXPECT_EQ(end.status, flow::Status::at_equilibrium);
      const flow::Growth g =
          flow::growth_of_perturbations(flow, end.progress.state, end.progress.log_unit);
      return std::log(g.rate) - end.progress.log_unit;
    };
    EXPECT_NEAR(rate(Rule::softmax), std::log(2.0) - 2 * beta - std::log1p(std::exp(-2 * beta)),
                1e-5 * (1 + beta));
    EXPECT_NEAR(rate(Rule::unnormalised), -beta, 1e-5 * (1 + beta));
  }
}

// Rounding leaves a polygon that is one to rounding only; what grows out of it is followed.
TEST(Balance, WhatLeavesItIsFollowed) {
  AttentionFlow flow({.beta = 1, .dim = 2}, 5, 1e-6);
  std::vector<double> angles;
  for (int k = 0; k < 5; ++k) angles.push_back(0.1 + 0.4 * std::numbers::pi * k);
  angles[2] += 1e-13;
  EXPECT_EQ(endless(flow, at_angles(angles)).status, flow::Status::collapsed);
}

TEST(Balance, SlowMotionIsNoEquilibrium) {
  // Two clusters at 1.2 rad merge after about e^{beta (1 - cos 1.2)}; three at unequal angles too.
  for (const double beta : {30.0, 200.0, 1000.0}) {
    AttentionFlow pair({.beta = beta, .dim = 2}, 2, 1e-6);
    EXPECT_EQ(endless(pair, at_angles({0.3, 1.5})).status, flow::Status::collapsed) << beta;
    AttentionFlow three({.beta = beta, .dim = 2}, 3, 1e-6);
    EXPECT_EQ(endless(three, at_angles({0.3, 2.3, 4.5})).status, flow::Status::collapsed) << beta;
  }
  // A pull that is cancelled to a part in 10^9 is motion still.
  AttentionFlow near({.beta = 2, .dim = 2}, 2, 1e-6);
  EXPECT_EQ(endless(near, at_angles({0, std::numbers::pi - 1e-9})).status, flow::Status::collapsed);
}

// Repelling tokens (V = -1) come to rest in the tetrahedron, which is stable.
TEST(Balance, StableEquilibriaAreSeenToo) {
  for (const double beta : {0.5, 2.0}) {
    AttentionFlow flow({.beta = beta, .dim = 3, .value = {-1, 0, 0, 0, -1, 0, 0, 0, -1}}, 4, 0);
    std::vector<double> x = tetrahedron();
    const Sphere sphere(3);
    for (std::size_t i = 0; i < 12; i += 3) {
      x[i] += 0.1 * static_cast<double>(i);
      sphere.retract(std::span(x).subspan(i, 3));
    }
    const End end = endless(flow, x);
    EXPECT_EQ(end.status, flow::Status::at_equilibrium) << beta;
    for (std::size_t i = 3; i < 12; i += 3)
      EXPECT_NEAR(
          dot(std::span(end.progress.state).first(3), std::span(end.progress.state).subspan(i, 3)),
          -1. / 3, 1e-13);
    EXPECT_FALSE(
        flow::growth_of_perturbations(flow, end.progress.state, end.progress.log_unit).grows());
  }
}

TEST(Balance, ResumedRunsEndWithTheSameBits) {
  const auto flow = [] { return AttentionFlow({.beta = 1, .dim = 3}, 4, 1e-6); };
  AttentionFlow whole = flow(), parts = flow();
  const End truth = endless(whole, tetrahedron());
  flow::Progress progress{.state = tetrahedron()};
  flow::Status status = flow::Status::interrupted;
  while (status == flow::Status::interrupted) {
    int budget = 11;
    status = flow::run(parts, flow::dormand_prince(), {}, progress,
                       {.stop = [&] { return budget-- == 0; }});
  }
  EXPECT_EQ(status, truth.status);
  EXPECT_EQ(progress.state, truth.progress.state);
  EXPECT_EQ(progress.time.value(), truth.progress.time.value());
}

}  // namespace
}  // namespace attractor::depth
