// Locally optimal choices: those of the theory, and enumeration against a plain loop.
#include "attractor/training/margins/choices.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/training_problems.hpp"

namespace attractor::training {
namespace {

using Choice = std::vector<std::size_t>;

std::vector<Choice> chosen(const LocalChoices& local) {
  std::vector<Choice> all;
  for (const MaxMargin& svm : local.found) all.push_back(svm.chosen);
  std::sort(all.begin(), all.end());
  return all;
}

TEST(LocalChoices, OfThePaperExample) {
  for (const auto& [scores, expected] :
       {std::pair{std::vector<double>{1, .9, 0}, std::vector<Choice>{{0}, {1}}},
        std::pair{std::vector<double>{1, .9, .9}, std::vector<Choice>{{0}}}}) {
    const Problem p = single_input(scores);
    const Objective objective(p, Loss::logistic, {});
    const AttSvm svm(objective);
    const LocalChoices local = enumerate_local_choices(objective, svm, 1000);
    EXPECT_TRUE(local.complete);
    EXPECT_EQ(chosen(local), expected);
  }
}

TEST(LocalChoices, EnumerationMissesNothing) {
  const Problem p = with_scores(3, 4, 2, deterministic(3, 4, 2, 3), {1, .3, .7, .2});
  const Objective objective(p, Loss::logistic, {});
  const AttSvm svm(objective);
  std::vector<Choice> all;
  for (std::size_t k = 0; k < 64; ++k) {
    const Choice choice{k % 4, k / 4 % 4, k / 16};
    if (svm.solve(choice).locally_optimal) all.push_back(choice);
  }
  std::sort(all.begin(), all.end());
  const LocalChoices local = enumerate_local_choices(objective, svm, 1000);
  ASSERT_TRUE(local.complete);
  EXPECT_EQ(chosen(local), all);
  EXPECT_GE(all.size(), 2U);
  EXPECT_LT(local.examined, 64U + 16 + 4) << "infeasible beginnings are not continued";
  // The search finds locally optimal choices only, and in this plane all of them.
  EXPECT_EQ(chosen(search_local_choices(objective, svm, 200, 0)), all);
  EXPECT_FALSE(enumerate_local_choices(objective, svm, 5).complete);
}

}  // namespace
}  // namespace attractor::training
