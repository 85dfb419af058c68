#include "attractor/noise/hysteresis.hpp"

#include <gtest/gtest.h>

#include "attractor/base/error.hpp"
#include "attractor/noise/bifurcation.hpp"

namespace attractor::meanfield {
namespace {

TEST(Hysteresis, AboveBetaStarTheWayUpIsNotTheWayDown) {
  // Few tokens hop between the states: once in about e^{n dF/kappa}. Hence beta = 9 at 1.25
  // kappa_#, where dF/kappa is 0.025 (down) and 0.047 (up); beta = 4 would need thousands of
  // tokens.
  StationarySolver solver({.beta = 9});
  const auto states = states_at(solver, trace_branch(solver), 1.25);
  ASSERT_EQ(states.size(), 2U);
  EXPECT_NEAR(states[0].excess_energy / 1.25, 0.0249, 1e-4);
  for (const std::uint64_t seed : {1UL}) {
    const Hysteresis h = sweep_noise(
        {.beta = 9, .tokens = 300, .seed = seed, .ratios = {1.25, 1.7}, .settle = 3, .average = 2});
    ASSERT_EQ(h.status, flow::Status::complete);
    ASSERT_TRUE(h.up.size() == 2 && h.down.size() == 2);
    EXPECT_NEAR(h.up[0].order, states[1].order, 0.06);  // three times 1/sqrt(n)
    EXPECT_LT(h.up[1].order, states[0].order);
    EXPECT_LT(h.down[0].order, states[0].order);
    EXPECT_LT(h.down[1].order, states[0].order);  // the same noise, not ordered
  }
}

TEST(Hysteresis, NoneForSoftmax) {
  const Hysteresis h = sweep_noise({.rule = Rule::softmax,
                                    .beta = 4,
                                    .tokens = 300,
                                    .ratios = {0.5, 0.8},
                                    .settle = 8,
                                    .average = 8});
  ASSERT_EQ(h.status, flow::Status::complete);
  EXPECT_NEAR(h.up[0].order, 0.90108552665, 0.02);
  EXPECT_NEAR(h.up[1].order, h.down[0].order, 0.06);
}

TEST(Hysteresis, IsAFunctionOfTheSeed) {
  HysteresisPlan plan{.beta = 1, .tokens = 50, .ratios = {0.5}, .settle = 1, .average = 1};
  const double one = sweep_noise(plan).up[0].order;
  EXPECT_EQ(sweep_noise(plan).up[0].order, one);
  plan.seed = 2;
  EXPECT_NE(sweep_noise(plan).up[0].order, one);
}

TEST(Hysteresis, StopsOnRequestAndRefusesBadInput) {
  HysteresisPlan plan{.tokens = 50, .ratios = {0.5, 0.9}};
  plan.stop = [] { return true; };
  EXPECT_EQ(sweep_noise(plan).status, flow::Status::interrupted);
  EXPECT_THROW(sweep_noise({.ratios = {}}), Error);
  EXPECT_THROW(sweep_noise({.ratios = {0.9, 0.5}}), Error);
  EXPECT_THROW(sweep_noise({.tokens = 1, .ratios = {0.5}}), Error);
  EXPECT_THROW(sweep_noise({.beta = 200, .ratios = {0.5}}), Error);
}

}  // namespace
}  // namespace attractor::meanfield
