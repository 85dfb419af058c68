// Every start ends with a locally optimal choice; the boundary is where the theory puts it.
#include "attractor/training/margins/basins.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "attractor/files/problem_file.hpp"
#include "tests/support/relu_problems.hpp"
#include "tests/support/training_problems.hpp"

namespace attractor::training {
namespace {

TEST(Basins, OfThePaperExampleAreTheTwoLocalChoices) {
  const Problem p = single_input({1, .9, 0});
  const Objective objective(p, Loss::logistic, {});
  const AttSvm svm(objective);
  const Basins basins = find_basins(objective, svm, {.side = 11, .radius = 3});
  EXPECT_EQ(basins.axes, (std::vector<std::size_t>{0, 1}));
  ASSERT_EQ(basins.starts.size(), 121U);
  ASSERT_EQ(basins.limits.size(), 2U);
  for (const MaxMargin& limit : basins.limits) EXPECT_TRUE(limit.locally_optimal);
  for (const BasinStart& start : basins.starts) {
    ASSERT_LT(start.limit, 2U);
    EXPECT_GT(start.velocity_cosine, 1 - 1e-6);
  }
}

// Far out the edge of the local token's basin is p.(k_0 - k_2) = 0, at angle atan(0.1) (theory B3).
TEST(Basins, FarOutHaveTheEdgeOfTheTheory) {
  Problem p = single_input({1, .9, 0});
  for (const auto& [angle, token] :
       {std::pair{-.3, 1UL}, {-.15, 1UL}, {0.01, 1UL}, {.08, 1UL}, {.12, 0UL}, {.3, 0UL}}) {
    p.prompt = {300 * std::cos(angle), 300 * std::sin(angle), 0};
    const Objective objective(p, Loss::logistic, {});
    const AttSvm svm(objective);
    const Basins basins = find_basins(objective, svm, {.side = 2, .radius = 1e-3});
    for (const BasinStart& start : basins.starts)
      EXPECT_EQ(basins.limits.at(start.limit).chosen, std::vector<std::size_t>{token}) << angle;
  }
}

// A start ends at a minimum only where there is one: with kinks it used to stop at the first.
TEST(Basins, OfHeadsWithKinksHaveNoFalseMinima) {
  std::size_t minima = 0;
  for (std::uint64_t k = 0; k < 4; ++k) {
    const Problem p = k == 0 ? read_problem(ATTRACTOR_TEST_DATA "/relu_kink.json")
                             : relu_problem({2, 4, 2, 3}, 70 + k);
    const Objective objective(p, Loss::logistic, {});
    const Basins basins = find_basins(objective, AttSvm(objective), {.side = 6, .log10_time = 4});
    for (const BasinStart& start : basins.starts) {
      if (!start.at_minimum) continue;
      ++minima;
      const Stationarity around = look_around(objective, start.end);
      EXPECT_LE(around.smallest, 1e-4 * std::max(around.largest, 1e-3)) << k;
      EXPECT_LE(around.fall, 1e-9) << k;
    }
  }
  EXPECT_GT(minima, 20U);
}

TEST(Basins, InHighDimensionsAreSampled) {
  const Problem p = with_scores(2, 3, 4, deterministic(2, 3, 4, 5), {1, .5, .2});
  const Objective objective(p, Loss::logistic, {});
  const AttSvm svm(objective);
  const Basins basins = find_basins(objective, svm, {.samples = 30, .radius = 2});
  EXPECT_TRUE(basins.axes.empty());
  EXPECT_EQ(basins.starts.size(), 30U);
  for (const BasinStart& start : basins.starts) ASSERT_LT(start.limit, basins.limits.size());
}

}  // namespace
}  // namespace attractor::training
