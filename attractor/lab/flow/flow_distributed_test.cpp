#include "attractor/lab/flow/flow_distributed.hpp"

#include <gtest/gtest.h>

#include "tests/support/refusal.hpp"

namespace attractor::lab {
namespace {

TEST(DistributedRuns, AreDenseWithoutCoalescenceAndHaveATokenForEachRank) {
  const auto said = [](const FlowSetup& p, double merge_radius, std::size_t tokens = 100) {
    return refusal([&] { check_distributed(p, tokens, p.dim, merge_radius, 4); });
  };
  EXPECT_EQ(said({}, 0), "");
  EXPECT_EQ(
      said(
          {.dynamics = Rule::unnormalised, .query = WeightKind::gaussian, .value = WeightKind::goe},
          0),
      "");
  EXPECT_EQ(said({}, 0, 4), "");
  EXPECT_SAYS(said({}, 1e-6), "give merge-radius off");
  EXPECT_SAYS(said({}, 0, 3), "3 tokens cannot be shared by 4 ranks");
  EXPECT_SAYS(said({.heads = 2}, 0), "one head");
  EXPECT_SAYS(said({.noise = 0.1}, 0), "no noise");
  EXPECT_SAYS(said({.dynamics = Rule::hardmax}, 0), "sa and usa");
  EXPECT_SAYS(said({.dim = 2, .engine = depth::Engine::circle}, 0), "give engine dense");
}

TEST(DistributedRuns, OnOneRankPassAProgressOnUnchanged) {
  const flow::Progress before{.state = {1, 2, 3, 4},
                              .time = flow::Time(0.5, -700),
                              .started = true,
                              .log_unit = -3,
                              .step = 1e-5,
                              .steps = (std::uint64_t{1} << 60) + 1,
                              .rejected = 7,
                              .next_output = 3,
                              .stalled = 2};
  const flow::Progress after = scattered(gathered(before), 2);
  EXPECT_EQ(after.state, before.state);
  EXPECT_TRUE(after.time == before.time);
  EXPECT_EQ(after.started, before.started);
  EXPECT_EQ(after.log_unit, before.log_unit);
  EXPECT_EQ(after.step, before.step);
  EXPECT_EQ(after.steps, before.steps);
  EXPECT_EQ(after.rejected, before.rejected);
  EXPECT_EQ(after.next_output, before.next_output);
  EXPECT_EQ(after.stalled, before.stalled);
}

}  // namespace
}  // namespace attractor::lab
