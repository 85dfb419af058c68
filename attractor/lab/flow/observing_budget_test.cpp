#include "attractor/lab/flow/observing_budget.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "attractor/lab/flow/flow_experiment.hpp"

namespace attractor::lab {
namespace {

std::vector<observe::Observation> measured(std::size_t times, double tokens) {
  std::vector<observe::Observation> series(times);
  for (observe::Observation& o : series) o.distinct_tokens = tokens;
  return series;
}

TEST(ObservingBudget, NeverLimitsFewTokensNorWhatWasAskedFor) {
  const ObservingBudget free({}, "dense"), asked({.outputs = 7}, "dense"),
      kept({.snapshots = 3}, "dense");
  EXPECT_TRUE(free.allows(kObservedFreely, 0, measured(50, 4096)));
  EXPECT_FALSE(free.allows(kObservedFreely + 1, 0, measured(50, 5000)));
  EXPECT_TRUE(asked.allows(100'000, 0, measured(50, 100'000)));
  EXPECT_TRUE(kept.allows(100'000, 0, measured(50, 100'000)));
}

// Whatever the number of steps, what has been measured beside the start costs at most its share.
TEST(ObservingBudget, KeepsItsShare) {
  constexpr double kStages = 7, kCost = 4;  // Dormand and Prince; dense rows
  const ObservingBudget budget({}, "dense");
  std::vector<observe::Observation> series;
  for (std::uint64_t steps = 0; steps < 2000; ++steps) {
    while (budget.allows(20'000, steps, series)) {
      series.push_back({.distinct_tokens = 20'000});
      const auto after_start = static_cast<double>(series.size() - 1);
      ASSERT_LE(kCost * after_start, kObservingShare * kStages * static_cast<double>(steps));
    }
    ASSERT_GT(kCost * static_cast<double>(series.size()),
              kObservingShare * kStages * static_cast<double>(steps));
  }
}

TEST(ObservingBudget, OfARunLeavesTheStartTheEndAndSomeBetween) {
  const FlowRecord few =
      run_flow({.beta = 2, .tokens = 4200, .dim = 3, .time = 1, .tolerance = 1e-3}, {});
  const FlowRecord all = run_flow(
      {.beta = 2, .tokens = 4200, .dim = 3, .time = 1, .tolerance = 1e-3, .outputs = 5}, {});
  EXPECT_EQ(few.outputs, 101U);
  EXPECT_LT(few.series.size(), 60U);
  EXPECT_GE(few.series.size(), 5U);  // the snapshots
  EXPECT_EQ(few.series.front().time, 0);
  EXPECT_EQ(few.series.back().time, 1);
  EXPECT_EQ(all.series.size(), 6U);
  EXPECT_EQ(few.series.back().energy, all.series.back().energy);
  EXPECT_EQ(few.series.back().sampled, 0);  // rows of all pairs move them: sums over all pairs
}

}  // namespace
}  // namespace attractor::lab
