// Att-SVM, neighbours and optimality against the theory's examples (B2, B5b) and training itself.
#include "attractor/training/max_margin.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace attractor::training {
namespace {

// Keys in the plane, the score as a third coordinate that W does not see.
Problem single_input(const std::vector<double>& scores) {
  Problem p{.inputs = 1,
            .tokens = 3,
            .dim = 3,
            .labels = {1},
            .head = {0, 0, 1},
            .weights = {1, 0, 0, 0, 1, 0, 0, 0, 0},
            .start = {0, 0, 0}};
  const double keys[3][2] = {{-0.1, 1}, {1, 0}, {0, 0}};
  for (std::size_t t = 0; t < 3; ++t) p.x.insert(p.x.end(), {keys[t][0], keys[t][1], scores[t]});
  return p;
}

TEST(MaxMargin, OfThePaperExampleIsExact) {
  const Prompt prompt(single_input({1, .9, 0}), Loss::logistic);
  const double expected[3][2] = {{-10. / 101, 100. / 101}, {1, 0}, {-1, -1.1}};
  for (std::size_t token = 0; token < 3; ++token) {
    const MaxMargin best = max_margin(prompt, {token});
    ASSERT_TRUE(best.feasible());
    EXPECT_LE(best.svm.relative_gap, 1e-12);
    EXPECT_NEAR(best.svm.p[0], expected[token][0], 1e-14);
    EXPECT_NEAR(best.svm.p[1], expected[token][1], 1e-14);
  }
}

TEST(MaxMargin, LocalOptimalityDependsOnTheNeighbours) {
  const Prompt different(single_input({1, .9, 0}), Loss::logistic),
      equal(single_input({1, .9, .9}), Loss::logistic);
  const auto local = [](const Prompt& prompt, std::size_t token) {
    return max_margin(prompt, {token}).locally_optimal;
  };
  EXPECT_TRUE(local(different, 0));
  EXPECT_TRUE(local(different, 1));
  EXPECT_FALSE(local(different, 2));
  EXPECT_TRUE(local(equal, 0));
  EXPECT_FALSE(local(equal, 1));
  EXPECT_FALSE(local(equal, 2));
  EXPECT_TRUE(max_margin(different, {0}).globally_optimal);
  EXPECT_FALSE(max_margin(different, {1}).globally_optimal);
}

TEST(MaxMargin, NamesABetterTokenJustOutsideTheTightSet) {
  // Token 2 scores more than token 0 and has margin 1.05 at p^mm(0) = (1, 0).
  Problem p{.inputs = 1,
            .tokens = 3,
            .dim = 3,
            .x = {1, 0, 1, 0, 0, 0.5, -0.05, 0, 2},
            .labels = {1},
            .head = {0, 0, 1},
            .weights = {1, 0, 0, 0, 1, 0, 0, 0, 0},
            .start = {0, 0, 0}};
  const MaxMargin best = max_margin(Prompt(p, Loss::logistic), {0});
  EXPECT_TRUE(best.locally_optimal);
  ASSERT_EQ(best.rivals.size(), 1U);
  EXPECT_EQ(best.rivals[0].token, 2U);
  EXPECT_NEAR(best.rivals[0].margin, 1.05, 1e-12);
}

TEST(MaxMargin, AnImpossibleChoiceHasACertificate) {
  // Token 1 lies between tokens 0 and 2: no direction puts it first.
  Problem p{.inputs = 1,
            .tokens = 3,
            .dim = 2,
            .x = {-1, 0, 0, 0, 1, 0},
            .labels = {1},
            .head = {0, 1},
            .start = {0, 0}};
  const MaxMargin best = max_margin(Prompt(p, Loss::logistic), {1});
  ASSERT_FALSE(best.feasible());
  double sum = 0, combination = 0;
  for (const solve::Multiplier& m : best.svm.farkas) {
    EXPECT_GT(m.value, 0);
    sum += m.value;
    combination += m.value * (m.index == 0 ? 1 : -1);  // rows k_1 - k_0 = (1,0), k_1 - k_2 = (-1,0)
  }
  EXPECT_GT(sum, 0);
  EXPECT_NEAR(combination / sum, 0, 1e-14);
  EXPECT_FALSE(best.locally_optimal);
}

}  // namespace
}  // namespace attractor::training
