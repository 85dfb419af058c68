#include "attractor/lab/flow/snapshot_choice.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "attractor/lab/flow/flow_experiment.hpp"
#include "tests/support/refusal.hpp"

namespace attractor::lab {
namespace {

/// The numbers of the outputs that are left, each being an output of 100 distinct tokens.
std::vector<double> kept(const SnapshotChoice& choice, std::size_t outputs) {
  std::vector<Snapshot> all;
  for (std::size_t k = 0; k < outputs; ++k) {
    const bool keep = choice.wants(k, all.size(), 100, 100) || k + 1 == outputs;
    choice.thin(k, all);
    if (keep) all.push_back({.time = flow::Time(static_cast<double>(k))});
  }
  choice.finish(all);
  std::vector<double> numbers;
  for (const Snapshot& s : all) numbers.push_back(s.time.value());
  return numbers;
}

TEST(SnapshotChoice, KeepsAsManyStepsAsWereAskedFor) {
  for (const std::size_t asked : {2U, 3U, 9U, 60U, 1000U}) {
    const SnapshotChoice choice({.snapshots = asked}, 0, 100, 3);
    for (const std::size_t outputs : {1U, 2U, 5U, 59U, 60U, 61U, 200U, 2282U, 50000U}) {
      const std::vector<double> numbers = kept(choice, outputs);
      ASSERT_EQ(numbers.size(), std::min<std::size_t>(asked, outputs))
          << asked << " of " << outputs;
      EXPECT_EQ(numbers.front(), 0);
      EXPECT_EQ(numbers.back(), static_cast<double>(outputs - 1));
      // The end may lie anywhere between two kept ones; no gap is more than three even ones.
      const double even = static_cast<double>(outputs) / static_cast<double>(asked - 1);
      for (std::size_t k = 1; k < numbers.size(); ++k) {
        EXPECT_GT(numbers[k], numbers[k - 1]);
        EXPECT_LE(numbers[k] - numbers[k - 1], std::max(1.0, 3 * even)) << asked << " " << outputs;
      }
    }
  }
}

TEST(SnapshotChoice, NeverHoldsMoreThanTwiceAsMany) {
  const SnapshotChoice choice({.snapshots = 7}, 0, 100, 3);
  std::vector<Snapshot> all;
  for (std::size_t k = 0; k < 10000; ++k) {
    choice.thin(k, all);
    if (choice.wants(k, all.size(), 100, 100))
      all.push_back({.time = flow::Time(static_cast<double>(k))});
    ASSERT_LE(all.size(), 14U) << k;
  }
}

TEST(SnapshotChoice, OfPlannedOutputsRefusesMoreThanThereAre) {
  EXPECT_EQ(kept(SnapshotChoice({.outputs = 100, .snapshots = 101}, 101, 8, 3), 101).size(), 101U);
  EXPECT_EQ(refusal([] { SnapshotChoice({.outputs = 100, .snapshots = 102}, 101, 8, 3); }),
            "snapshots = 102 is not allowed; allowed: 2 to 101, the number of times at which this "
            "run is measured (outputs = 100 and the start)");
  EXPECT_EQ(refusal([] { SnapshotChoice({.outputs = 3}, 4, 8, 3); }), "");  // nothing was asked for
}

TEST(SnapshotChoice, OfARunWithoutEndIsHonoured) {
  FlowSetup p{.beta = 9, .seed = 3};
  p.tokens = 16;
  p.time = kInfinity;
  p.snapshots = 40;
  const FlowRecord record = run_flow(p, {});
  ASSERT_GT(record.steps, 40U);
  ASSERT_EQ(record.snapshots.size(), 40U);
  EXPECT_EQ(record.snapshots.front().time.value(), 0);
  EXPECT_EQ(record.snapshots.back().time, record.solver_time);
}

}  // namespace
}  // namespace attractor::lab
