// Att-SVM, neighbours and optimality against the theory's examples (B2, B5b, B7, B9) and training
// itself.
#include "attractor/training/margins/max_margin.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "attractor/space/space.hpp"
#include "tests/support/training_problems.hpp"

namespace attractor::training {
namespace {

MaxMargin of_prompt(const Problem& problem, std::vector<std::size_t> chosen,
                    std::vector<bool> relaxed = {}) {
  const Objective objective(problem, Loss::logistic, {});
  return AttSvm(objective).solve(std::move(chosen), {}, std::move(relaxed));
}

TEST(MaxMargin, OfThePaperExampleIsExact) {
  const double expected[3][2] = {{-10. / 101, 100. / 101}, {1, 0}, {-1, -1.1}};
  for (std::size_t token = 0; token < 3; ++token) {
    const MaxMargin best = of_prompt(single_input({1, .9, 0}), {token});
    ASSERT_TRUE(best.feasible());
    EXPECT_LE(best.relative_gap, 1e-12);
    EXPECT_NEAR(best.solution[0], expected[token][0], 1e-14);
    EXPECT_NEAR(best.solution[1], expected[token][1], 1e-14);
  }
}

TEST(MaxMargin, LocalOptimalityDependsOnTheNeighbours) {
  const auto local = [](std::vector<double> scores, std::size_t token) {
    return of_prompt(single_input(scores), {token}).locally_optimal;
  };
  EXPECT_TRUE(local({1, .9, 0}, 0));
  EXPECT_TRUE(local({1, .9, 0}, 1));
  EXPECT_FALSE(local({1, .9, 0}, 2));
  EXPECT_TRUE(local({1, .9, .9}, 0));
  EXPECT_FALSE(local({1, .9, .9}, 1));
  EXPECT_FALSE(local({1, .9, .9}, 2));
  EXPECT_TRUE(of_prompt(single_input({1, .9, 0}), {0}).globally_optimal);
  EXPECT_FALSE(of_prompt(single_input({1, .9, 0}), {1}).globally_optimal);
  EXPECT_TRUE(of_prompt(single_input({1, 1, 0}), {1}).globally_optimal) << "a tie for the best";
}

TEST(MaxMargin, NamesABetterTokenJustOutsideTheTightSet) {
  // Token 2 scores more than token 0 and has margin 1.05 at p^mm(0) = (1, 0).
  const Problem p = with_scores(1, 3, 2, {1, 0, 0, 0, -0.05, 0}, {1, 0.5, 2});
  const MaxMargin best = of_prompt(p, {0});
  EXPECT_TRUE(best.locally_optimal);
  ASSERT_EQ(best.rivals.size(), 1U);
  EXPECT_EQ(best.rivals[0].token, 2U);
  EXPECT_NEAR(best.rivals[0].margin, 1.05, 1e-12);
}

TEST(MaxMargin, AnImpossibleChoiceHasACertificate) {
  // Token 1 lies between tokens 0 and 2: no direction puts it first.
  const Problem p{.inputs = 1,
                  .tokens = 3,
                  .dim = 2,
                  .x = {-1, 0, 0, 0, 1, 0},
                  .labels = {1},
                  .head = {.v = {0, 1}},
                  .prompt = {0, 0}};
  const MaxMargin best = of_prompt(p, {1});
  ASSERT_FALSE(best.feasible());
  double sum = 0, combination = 0;
  for (const solve::Multiplier& m : best.support) {
    EXPECT_GT(m.value, 0);
    sum += m.value;
    combination += m.value * (m.index == 0 ? 1 : -1);  // rows k_1 - k_0 = (1,0), k_1 - k_2 = (-1,0)
  }
  EXPECT_GT(sum, 0);
  EXPECT_NEAR(combination / sum, 0, 1e-14);
  EXPECT_FALSE(best.locally_optimal);
}

// The authors' joint problem (theory B7).
Problem joint(double last) {
  return {.inputs = 3,
          .tokens = 2,
          .dim = 2,
          .x = {0, 0, 1, 1, 0, 0, 1, -1, 0, 0, 0.5, last},
          .labels = {1, -1, 1},
          .head = {.v = {0, 1}},
          .prompt = {0, -1}};
}

TEST(MaxMargin, RelaxedInputsMayHaveMarginZero) {
  const MaxMargin all = of_prompt(joint(1.5), {1, 1, 1});
  EXPECT_NEAR(all.solution[0], 1.25, 1e-14);
  EXPECT_NEAR(all.solution[1], 0.25, 1e-14);
  const MaxMargin relaxed = of_prompt(joint(1.5), {1, 1, 1}, {false, false, true});
  EXPECT_NEAR(relaxed.solution[0], 1, 1e-14);
  EXPECT_NEAR(relaxed.solution[1], 0, 1e-14);
}

TEST(LabelMargin, KnowsTheSupportInputs) {
  const std::vector<std::size_t> chosen{1, 1, 1};
  for (double last : {1.0, 1.5}) {
    const Problem p = joint(last);
    const LabelMargin label = label_margin(p, token_features(p, chosen));
    EXPECT_NEAR(label.svm.p[0], 0, 1e-14);
    EXPECT_NEAR(label.svm.p[1], 1, 1e-14);
    EXPECT_EQ(label.support, (std::vector<bool>{true, true, last == 1.0}));
  }
}

// With the same query for all inputs W^mm = p^mm(keys x) q^T / |q|^2, in every norm that sees rank
// one.
TEST(MaxMargin, OfWWithOneQueryIsThatOfThePrompt) {
  Problem p = authors_like();
  p.weights.clear();
  for (std::size_t row = 0; row < 21; ++row) p.x[row * 3 + 2] = 0.1 * static_cast<double>(row % 5);
  p.prompt = {2, -1, 0.5};
  const MaxMargin prompt = of_prompt(p, {0, 0, 0});
  for (const char* train : {"W", "KQ"}) {
    Problem q = p;
    q.key_factor = q.query_factor = {1, 0, 0};
    const Objective objective(q, Loss::logistic, named<Train>("train", train));
    const MaxMargin best = AttSvm(objective).solve({0, 0, 0});
    const double squared = dot(p.prompt, p.prompt);
    EXPECT_NEAR(best.norm, prompt.norm / std::sqrt(squared), 1e-9);
    EXPECT_EQ(best.rank, 1U);
    for (std::size_t a = 0; a < 3; ++a)
      for (std::size_t b = 0; b < 3; ++b)
        EXPECT_NEAR(best.solution[a * 3 + b], prompt.solution[a] * p.prompt[b] / squared, 1e-6);
  }
}

// Theory B9: three inputs of two tokens whose differences are a_i, with queries z_i.
Problem three_queries() {
  return {.inputs = 3,
          .tokens = 2,
          .dim = 3,
          .x = {1, 0, .3, 0, 0, 0, .2, 1, 0, 0, 0, 0, 0, .4, 1, 0, 0, 0},
          .labels = {1, 1, 1},
          .head = {.v = {1, 1, 1}},
          .queries = {1, .2, 0, .1, 1, .5, .6, 0, 1},
          .prompt = {0, 0, 0},
          .key_factor = {1, 0, 0},
          .query_factor = {1, 0, 0}};
}

TEST(MaxMargin, FrobeniusAndNuclearNormsDiffer) {
  const Problem p = three_queries();
  const Objective on_w(p, Loss::logistic, Train::W), on_kq(p, Loss::logistic, Train::KQ);
  const MaxMargin frobenius = AttSvm(on_w).solve({0, 0, 0});
  const MaxMargin nuclear = AttSvm(on_kq).solve({0, 0, 0});
  EXPECT_NEAR(frobenius.norm, 1.37076619737, 1e-11);
  EXPECT_EQ(frobenius.rank, 3U);
  EXPECT_NEAR(nuclear.norm, 1.593094395, 1e-8);
  EXPECT_EQ(nuclear.rank, 1U);
  EXPECT_LE(nuclear.relative_gap, 1e-8);
}

// One query for all inputs: the queries span a line, and W is found in coordinates of its own. The
// bounds are those of the problem as given, |W| = |p| / |q| with p of TokenDifferences.
TEST(MaxMargin, BoundsOfWAreAboutTheQueriesAsGiven) {
  for (const double height : {1e-2, 1e-5, 1e-8, 1e-11}) {
    // Rows (0.3, h), (-0.7, h): p = (0, 1 / h), whatever the first entries.
    Problem p{.inputs = 2,
              .tokens = 2,
              .dim = 2,
              .x = {0.3, height, 0, 0, -0.7, height, 0, 0},
              .labels = {1, 1},
              .head = {.v = {0, 1}},
              .prompt = {3, 4}};
    for (const char* train : {"p", "W", "KQ"}) {
      p.key_factor = p.query_factor = {1, 0, 0, 1};
      const Objective objective(p, Loss::logistic, named<Train>("train", train));
      const MaxMargin best = AttSvm(objective).solve({0, 0});
      const long double exact = 1 / (static_cast<long double>(height) * (train[0] == 'p' ? 1 : 5));
      SCOPED_TRACE(testing::Message() << train << ' ' << height);
      EXPECT_LE(best.lower, exact * (1 + 1e-18L));
      EXPECT_GE(best.upper, exact * (1 - 1e-18L));
      EXPECT_GT(best.relative_gap, 0);
      EXPECT_GE(best.norm, best.lower);
      EXPECT_LE(best.norm, best.upper);
      if (height > 1e-3) {
        EXPECT_EQ(best.status, solve::MarginStatus::optimal);
      }
    }
  }
}

// The recorded case: |p| is 1.8e12, doubles miss constraints by 1e-4, and all three are tight.
TEST(MaxMargin, ExactArithmeticCorrectsWhatDoublesCannotSay) {
  const Problem p{.inputs = 1,
                  .tokens = 4,
                  .dim = 3,
                  .x = {0, 0, 0, -1.6474245947764556, 0.7236877193762309, 2.6231170533543655,
                        1.5812921787553227, 2.2996124783554337, 2.377865706699165,
                        -0.1616029894022174, -1.620282478890805, -2.507965443243272},
                  .labels = {1},
                  .head = {.v = {1, 0, 0}},
                  .prompt = {0, 0, 0}};
  const Objective objective(p, Loss::logistic, {});
  const AttSvm svm(objective);
  MaxMargin found = svm.solve({0});
  EXPECT_EQ(found.status, solve::MarginStatus::precision_limit);
  EXPECT_GT(found.relative_gap, 1e-12);
  EXPECT_LT(found.relative_gap, 1e-6);
  EXPECT_LT(found.smallest_slack, -1e-6);
  EXPECT_EQ(found.neighbours.size(), 3U);
  const double lower = found.lower, upper = found.upper;
  const solve::ExactMargin exact = svm.prove(found);
  ASSERT_TRUE(exact.proved) << exact.why_not;
  EXPECT_TRUE(found.exact);
  EXPECT_EQ(found.status, solve::MarginStatus::optimal);
  EXPECT_LE(lower, found.upper);
  EXPECT_GE(upper, found.lower);
  EXPECT_LE(found.relative_gap, 3e-16);
  ASSERT_EQ(found.neighbours.size(), 3U);
  for (const TokenMargin& t : found.neighbours) EXPECT_EQ(t.margin, 1);
  EXPECT_TRUE(found.rivals.empty());
  EXPECT_FALSE(found.locally_optimal) << "token 2 is tight and better";
}

// Infeasible by a residual of doubles; the proof is rational. Keys with and without a W.
TEST(MaxMargin, AnImpossibleChoiceIsProvedExactly) {
  for (const bool mapped : {false, true}) {
    Problem p{.inputs = 1,
              .tokens = 4,
              .dim = 2,
              .x = {0.1, 0.3, 1, 0.7, -1, 0.9, 0.2, -1},
              .labels = {1},
              .head = {.v = {0, 1}},
              .prompt = {0, 0}};
    if (mapped) p.weights = {0.3, 0.7, -1.1, 0.2};
    const Objective objective(p, Loss::logistic, {});
    const AttSvm svm(objective);
    MaxMargin found = svm.solve({0});
    ASSERT_FALSE(found.feasible());
    EXPECT_GT(found.lower, 1e13);
    const solve::ExactMargin exact = svm.prove(found);
    ASSERT_TRUE(exact.proved && exact.infeasible) << exact.why_not;
    EXPECT_TRUE(found.proved_infeasible());
    EXPECT_EQ(exact.lambda.size(), 3U);
  }
}

// Four inputs ask W_11, W_22, W_11 + W_22 -+ (W_12 + W_21) >= 1: the identity has the least nuclear
// norm, 2, and rank 2; (1, 2) (1, 2)^T makes the same choice with rank 1.
TEST(MaxMargin, SaysWhatFactorsOfSmallRankCannotReach) {
  for (const std::size_t columns : {1U, 2U}) {
    Problem p{.inputs = 4,
              .tokens = 2,
              .dim = 2,
              .x = {1, 0, 0, 0, 0, 1, 0, 0, 1, -1, 0, 0, 1, 1, 0, 0},
              .labels = {1, 1, 1, 1},
              .head = {.v = {1, 0.5}},
              .queries = {1, 0, 0, 1, 1, -1, 1, 1},
              .prompt = {0, 0}};
    p.key_factor = p.query_factor =
        columns == 1 ? std::vector<double>{1, 2} : std::vector<double>{1, 0, 0, 1};
    const Objective objective(p, Loss::logistic, Train::KQ);
    const MaxMargin best = AttSvm(objective).solve({0, 0, 0, 0});
    EXPECT_NEAR(best.norm, 2, 1e-8);
    EXPECT_EQ(best.rank, 2U);
    EXPECT_EQ(best.factor_rank, columns);
    EXPECT_EQ(best.in_reach(), columns == 2);
    EXPECT_NEAR(best.reach, columns == 2 ? 1 : std::sqrt(0.5), 1e-3);
  }
}

// One tight constraint g = (-0.1, 1): |p|_q = 1 / |g|_{q'}, p_b ~ sign(g_b) |g_b|^{q'-1}.
TEST(MaxMargin, OfMirrorDescentMinimisesItsNorm) {
  const Problem p = single_input({1, .9, 0});
  const Objective objective(p, Loss::logistic, {});
  for (double q : {1.5, 3.0}) {
    const MaxMargin best = AttSvm(objective, q).solve({0});
    const double dual = q / (q - 1);
    EXPECT_NEAR(best.norm, 1 / std::pow(std::pow(0.1, dual) + 1, 1 / dual), 1e-12);
    EXPECT_NEAR(best.solution[0] / best.solution[1], -std::pow(0.1, dual - 1), 1e-10);
    EXPECT_LE(best.relative_gap, 1e-10);
    EXPECT_TRUE(best.locally_optimal);
  }
}

}  // namespace
}  // namespace attractor::training
