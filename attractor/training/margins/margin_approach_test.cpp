// Which margin a trail of weights approaches, where all of them are known by hand.
#include "attractor/training/margins/margin_approach.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"
#include "tests/support/training_problems.hpp"

namespace attractor::training {
namespace {

// One input, two tokens: the only row is a = k_0 - k_1. The margin |a|_dual / |w| is largest at
// w = a (l_2), sign a (l_inf) and e_b, b the largest |a_b| (l_1).
Problem one_row(double first, double second) {
  return with_scores(1, 2, 2, {first, second, 0, 0}, {1, 0});
}

// w = c + k u, k = 0, 1, ...: the constant is lost in the limit only.
Trail along(double x, double y, double c) {
  Trail trail;
  for (int k = 0; k <= 100; ++k) trail.push_back({k * x - 0.3 * c, k * y + c, 0});
  return trail;
}

MarginVerdict verdict(const Problem& problem, const Trail& trail, double within = 0.01) {
  const Objective objective(problem, Loss::logistic, {});
  const std::vector<std::size_t> chosen{0};
  return compare_margins(objective, chosen, {}, trail, within, margin_norms(AttentionPart::prompt));
}

TEST(MarginApproach, NamesTheNormOfTheDirection) {
  const Problem problem = one_row(2, -1);
  for (const double c : {0.0, 3.0}) {  // the trail may begin far beside its limit
    EXPECT_EQ(verdict(problem, along(2, -1, c)).verdict, "l_2");
    EXPECT_EQ(verdict(problem, along(1, -1, c)).verdict, "l_inf");
    EXPECT_EQ(verdict(problem, along(1, 0, c)).verdict, "l_1");
    EXPECT_EQ(verdict(problem, along(1, 1, c)).verdict, "none");
  }
}

TEST(MarginApproach, KnowsMarginsAndSharesOfOneRow) {
  const MarginVerdict found = verdict(one_row(2, -1), along(1, 0, 0));
  ASSERT_EQ(found.norms.size(), 3U);
  const double best[] = {std::sqrt(5.0), 3, 2};  // |a|_2, |a|_1, |a|_inf
  for (std::size_t k = 0; k < 3; ++k) {
    EXPECT_NEAR(found.norms[k].svm.margin(), best[k], 1e-9);
    EXPECT_LE(found.norms[k].svm.relative_gap, 1e-9);
    EXPECT_NEAR(found.norms[k].share, 2 / best[k], 1e-9);  // <a, e_0> = 2
    EXPECT_NEAR(found.norms[k].error, 0, 1e-9);
  }
  EXPECT_NEAR(found.norms[0].cosine, 2 / std::sqrt(5.0), 1e-9);
}

// Along an axis all three margins are reached at once, and a trail that has not grown tells
// nothing.
TEST(MarginApproach, IsUndecidedWhereNothingTellsNormsApart) {
  const MarginVerdict all = verdict(one_row(1, 0), along(1, 0, 0));
  for (const MarginApproach& n : all.norms) EXPECT_TRUE(n.approached) << n.norm;
  EXPECT_EQ(all.verdict, "undecided");
  EXPECT_EQ(verdict(one_row(2, -1), {{1, 0, 0}, {1.5, 0, 0}}).verdict, "undecided");
  EXPECT_EQ(verdict(one_row(2, -1), {}).verdict, "");
}

// W of one input: the row is a q^T, and the norms of the solutions are those of a over its dual
// norm, times that of q over its own: Frobenius, nuclear and spectral margins are |a| |q|.
TEST(MarginApproach, HasFiveNormsOfAMatrix) {
  Problem problem{.inputs = 1,
                  .tokens = 2,
                  .dim = 2,
                  .x = {3, 4, 0, 0},
                  .labels = {1},
                  .head = {.v = {1, 0}},
                  .weights = {0, 0, 0, 0},
                  .queries = {1, -2},
                  .prompt = {0, 0}};
  check(problem);
  const Objective objective(problem, Loss::logistic, Train::W);
  const std::vector<std::size_t> chosen{0};
  const MarginVerdict found =
      compare_margins(objective, chosen, {}, {}, 0.01, margin_norms(AttentionPart::weights));
  const double best[] = {5 * std::sqrt(5.0), 7 * 3, 4 * 2, 5 * std::sqrt(5.0), 5 * std::sqrt(5.0)};
  ASSERT_EQ(found.norms.size(), 5U);
  for (std::size_t k = 0; k < 5; ++k) {
    EXPECT_NEAR(found.norms[k].svm.margin(), best[k], 1e-8) << found.norms[k].norm;
    const std::vector<double>& w = found.norms[k].svm.solution;
    EXPECT_NEAR(margin_of(objective, chosen, w, margin_norms(AttentionPart::weights)[k]), best[k],
                1e-8);
  }
}

TEST(MarginNorm, OfAMatrixIsThatOfItsSingularValues) {
  const std::vector<double> w{3, 0, 0, -4};
  EXPECT_NEAR((MarginNorm{.of = MarginNorm::Of::nuclear}(w)), 7, 1e-14);
  EXPECT_NEAR((MarginNorm{.of = MarginNorm::Of::spectral}(w)), 4, 1e-14);
  EXPECT_NEAR((MarginNorm{.power = 1}(w)), 7, 1e-14);
  EXPECT_NEAR((MarginNorm{.power = 2}(w)), 5, 1e-14);
  EXPECT_NEAR((MarginNorm{.power = 3}(w)), std::cbrt(91), 1e-14);
  EXPECT_EQ((MarginNorm{.power = kInfinity}(w)), 4);
  const Problem problem = one_row(1, 2);
  const Objective objective(problem, Loss::logistic, {});
  EXPECT_THROW(AttSvm(objective, MarginNorm{.of = MarginNorm::Of::spectral}), Error);
}

}  // namespace
}  // namespace attractor::training
