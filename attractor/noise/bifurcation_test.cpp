#include "attractor/noise/bifurcation.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "attractor/base/error.hpp"
#include "tests/support/rules.hpp"

namespace attractor::meanfield {
namespace {

TEST(Bifurcation, TricriticalBetaOfTheReference) {
  const struct {
    std::size_t dim;
    double beta, noise;
  } cases[] = {{2, 2.446918311289, 0.9801317883267},   {3, 1.816154525436, 0.4570539699387},
               {4, 1.575257150092, 0.3058755219544},   {8, 1.266553024521, 0.1353675257395},
               {16, 1.128971575483, 0.06474840457034}, {64, 1.031494426247, 0.01575143859865}};
  for (const auto& c : cases) {
    EXPECT_NEAR(tricritical_beta(c.dim) / c.beta, 1, 1e-12);
    EXPECT_NEAR(std::exp(log_critical_noise({kUsa, c.dim, tricritical_beta(c.dim)})) / c.noise, 1,
                2e-12);
  }
}

TEST(Bifurcation, CurvatureOfTheBranchIsTheClosedForm) {
  // (s - 1)/R^2 at two small R, extrapolated to 0.
  for (const Rule rule : {kUsa, kSa})
    for (const std::size_t dim : {2UL, 3UL, 8UL, 100UL})
      for (const double beta : {0.0, 0.5, 1.0, 2.0, 4.0, 9.0}) {
        const NoisyAttention model{rule, dim, beta};
        StationarySolver solver(model);
        const auto near = [&](double order) {
          const auto state = solver.at_order(order);
          EXPECT_TRUE(state);
          return state ? (state->noise_ratio - 1) / (order * order) : std::nan("");
        };
        const double h = 2e-3, c = (4 * near(h) - near(2 * h)) / 3;
        EXPECT_NEAR(c, branch_curvature(model), 1e-6 * (1 + std::pow(std::abs(c), 3)))
            << name(rule) << " d " << dim << " beta " << beta;
      }
}

TEST(Bifurcation, CurvatureOnTheCircleIsTheOneOfTheReference) {
  for (const double beta : {0.5, 1.0, 2.0, 4.0, 9.0, 25.0}) {
    const double i0 = std::cyl_bessel_i(0, beta), i1 = std::cyl_bessel_i(1, beta),
                 i2 = std::cyl_bessel_i(2, beta);
    const double r = i2 / i1, b1 = i1 / i0, b2 = i2 / i0;
    const double usa = (2 * r - 1) / (2 * (1 - r));
    const double sa = -(1 - b1 * b1 - (1 - b1) * (1 - b2) / (2 * (1 - b2 / b1)));
    EXPECT_NEAR(branch_curvature({kUsa, 2, beta}) / usa, 1, 1e-12);
    EXPECT_NEAR(branch_curvature({kSa, 2, beta}) / sa, 1, 1e-12);
  }
  for (const std::size_t dim : {2UL, 3UL, 4UL, 8UL, 64UL})  // and it vanishes at beta_*
    EXPECT_NEAR(branch_curvature({kUsa, dim, tricritical_beta(dim)}), 0, 1e-11);
}

TEST(Bifurcation, SoftmaxIsContinuousWhateverBeta) {
  for (const std::size_t dim : {2UL, 3UL, 4UL, 8UL, 30UL, 100UL})
    for (const double beta : {0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 40.0})
      EXPECT_LT(branch_curvature({kSa, dim, beta}), 0) << dim << " " << beta;
  for (const double beta : {1.0, 4.0, 9.0}) {
    StationarySolver solver({kSa, 2, beta});
    const Branch branch = trace_branch(solver);
    EXPECT_TRUE(branch.complete);
    EXPECT_FALSE(branch.discontinuous());
    for (const StationaryState& s : branch.states) EXPECT_TRUE(s.stable());
  }
}

TEST(Bifurcation, FirstOrderRegionOfTheReference) {
  const struct {
    double beta, transition, fold, jump;
  } cases[] = {{3, 1.008852, 1.011444, 0.481544},
               {4, 1.046959, 1.058877, 0.668806},
               {9, 1.269300, 1.325789, 0.858822}};
  for (const auto& c : cases) {
    StationarySolver solver({kUsa, 2, c.beta});
    const Branch branch = trace_branch(solver);
    ASSERT_TRUE(branch.complete && branch.fold && branch.transition);
    EXPECT_NEAR(branch.transition->noise_ratio, c.transition, 6e-7);
    EXPECT_NEAR(branch.fold->noise_ratio, c.fold, 6e-7);
    EXPECT_NEAR(branch.transition->order, c.jump, 6e-7);
    EXPECT_NEAR(branch.transition->excess_energy, 0, 1e-12);
    EXPECT_NEAR(branch.fold->slope(), 0, 1e-9);
    EXPECT_NEAR(branch.fold->gain, 1, 1e-9);  // the fold is where stability changes
    for (const StationaryState& s : branch.states)
      EXPECT_EQ(s.stable(), s.order > branch.fold->order);
  }
}

TEST(Bifurcation, TurnsFirstOrderAtBetaStar) {
  for (const std::size_t dim : {2UL, 3UL, 4UL, 8UL, 100UL}) {
    const double star = tricritical_beta(dim);
    for (const double factor : {0.5, 0.97, 0.999, 1.001, 1.03, 1.5}) {
      const NoisyAttention model{kUsa, dim, factor * star};
      StationarySolver solver(model);
      const Branch branch = trace_branch(solver, 0.8);
      EXPECT_TRUE(branch.complete);
      EXPECT_EQ(branch.discontinuous(), factor > 1) << dim << " " << factor;
      EXPECT_EQ(branch_curvature(model) > 0, factor > 1);
      EXPECT_EQ(branch.transition.has_value(), factor > 1);
      if (!branch.transition) continue;
      EXPECT_GT(branch.transition->noise_ratio, 1);
      EXPECT_GT(branch.fold->noise_ratio, branch.transition->noise_ratio);
    }
  }
}

TEST(Bifurcation, FirstOrderRegionOpensAsTheSquareOfTheDistance) {
  // Near beta_*: s - 1 = c R^2 - e R^4, so the fold is at R^2 = c/2e, and at kappa_c, where the
  // integral of R^2 ds vanishes to leading order, R^2 = 3c/4e and (s_c - 1)/(s_fold - 1) = 3/4.
  const double star = tricritical_beta(2);
  const TransitionPoint a = transition_point({kUsa, 2, star + 0.002});
  EXPECT_NEAR((a.transition_ratio - 1) / (a.fold_ratio - 1), 0.75, 2e-3);
  EXPECT_NEAR(a.jump * a.jump / (a.fold_order * a.fold_order), 1.5, 5e-3);
  const TransitionPoint b = transition_point({kUsa, 2, star + 0.004});
  EXPECT_NEAR((b.fold_ratio - 1) / (a.fold_ratio - 1), 4, 0.05);
  const TransitionPoint below = transition_point({kUsa, 2, star - 0.1});
  EXPECT_EQ(below.fold_ratio, 1);
  EXPECT_EQ(below.jump, 0);
}

TEST(Bifurcation, StatesAtGivenNoise) {
  StationarySolver solver({kUsa, 2, 4});
  const Branch branch = trace_branch(solver);
  const struct {
    double ratio;
    std::size_t count;
  } cases[] = {{0.5, 1}, {0.99, 1}, {1.01, 2}, {1.05, 2}, {1.0588, 2}, {1.0589, 0}, {1.2, 0}};
  for (const auto& c : cases) {
    const auto states = states_at(solver, branch, c.ratio);
    ASSERT_EQ(states.size(), c.count) << c.ratio;
    for (const StationaryState& s : states) EXPECT_NEAR(s.noise_ratio, c.ratio, 1e-13);
    for (std::size_t k = 0; k < c.count; ++k) EXPECT_EQ(states[k].stable(), k + 1 == c.count);
  }
  StationarySolver warm({kUsa, 2, 1});
  const auto states = states_at(warm, trace_branch(warm), 0.9);
  ASSERT_EQ(states.size(), 1U);
  EXPECT_NEAR(states[0].order, 0.51091255756, 1e-10);
}

TEST(Bifurcation, SymmetricBranchesHaveTheirOwnCriticalNoise) {
  for (const std::size_t mode : {2UL, 3UL}) {
    const NoisyAttention model{kUsa, 2, 9, mode};
    StationarySolver solver(model);
    const Branch branch = trace_branch(solver);
    EXPECT_TRUE(branch.complete);
    EXPECT_EQ(branch.discontinuous(), branch_curvature(model) > 0);
    EXPECT_NEAR(std::exp(log_critical_noise(model)),
                std::cyl_bessel_i(static_cast<double>(mode), 9.0) / 9, 1e-10);
  }
}

TEST(Bifurcation, SaysWhereItCannotFollowTheBranch) {
  StationarySolver solver({kUsa, 100, 20});
  EXPECT_FALSE(trace_branch(solver).complete);
  EXPECT_THROW(trace_branch(solver, 0), Error);
  EXPECT_THROW(trace_branch(solver, 1.5), Error);
  EXPECT_THROW(tricritical_beta(1), Error);
}

TEST(Bifurcation, CurvatureIsKnownAtAnyBeta) {  // g = lambda_2 / lambda_1 -> 1: c ~ beta
  for (const double beta : {1e4, 1e6}) {
    const double g = 1 - 3 / (2 * beta);  // I_2 / I_1, up to beta^-2
    EXPECT_NEAR(branch_curvature({.beta = beta}) / ((2 * g - 1) / (2 * (1 - g))), 1, 3 / beta);
  }
}

TEST(Bifurcation, BranchEndsWhenStopped) {
  StationarySolver solver({.beta = 9}, [] { return true; });
  const Branch branch = trace_branch(solver);
  EXPECT_FALSE(branch.complete);
  EXPECT_TRUE(branch.states.empty());
}

}  // namespace
}  // namespace attractor::meanfield
