#include "attractor/solve/exact/exact_margin.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

#include "attractor/base/error.hpp"
#include "attractor/base/random.hpp"
#include "tests/support/margin_data.hpp"

namespace attractor::solve {
namespace {

using boost::multiprecision::cpp_int;
using boost::multiprecision::cpp_rational;

std::vector<double> normals(std::uint64_t seed, std::size_t count, std::size_t dim) {
  return normals_of("test.exact_margin", seed, count, dim);
}

std::vector<double> integers(std::uint64_t seed, std::size_t count, std::size_t dim,
                             std::uint64_t most) {
  const Stream stream(seed, "test.exact_margin.integers");
  std::vector<double> values;
  for (std::size_t k = 0; k < count * dim; ++k)
    values.push_back(static_cast<double>(stream.below(2 * most + 1, k, 0)) -
                     static_cast<double>(most));
  return values;
}

// Token choices that a random direction makes.
TokenChoice planted(std::span<const double> keys, std::size_t tokens, std::size_t dim,
                    std::uint64_t seed) {
  return choice_of(normals(seed + 1000000, 1, dim), keys, tokens);
}

std::vector<std::string> strings(std::span<const Rational> values) {
  std::vector<std::string> all;
  for (const Rational& value : values) all.push_back(value.exact);
  return all;
}

using Strings = std::vector<std::string>;
using Matrix = std::vector<std::vector<cpp_rational>>;

Matrix rows_of(const Constraints& constraints) {
  Matrix rows;
  std::vector<double> row(constraints.dim());
  for (std::size_t j = 0; j < constraints.size(); ++j) {
    constraints.row(j, row);
    rows.emplace_back(row.begin(), row.end());
  }
  return rows;
}

// The conditions of Karush, Kuhn and Tucker, or those of Farkas, from the printed rationals alone.
void expect_proved(const ExactMargin& found, const Matrix& rows, const Constraints& constraints) {
  ASSERT_TRUE(found.proved) << found.why_not;
  EXPECT_TRUE(found.why_not.empty());
  ASSERT_EQ(found.support.size(), found.lambda.size());
  std::vector<cpp_rational> sum(constraints.dim(), 0);
  cpp_rational bounds = 0;
  for (std::size_t k = 0; k < found.support.size(); ++k) {
    const cpp_rational lambda(found.lambda[k].exact);
    EXPECT_GT(lambda, 0);
    EXPECT_DOUBLE_EQ(found.lambda[k].value, static_cast<double>(lambda));
    for (std::size_t b = 0; b < sum.size(); ++b) sum[b] += lambda * rows[found.support[k]][b];
    bounds += lambda * cpp_rational(constraints.bound(found.support[k]));
  }
  if (found.infeasible) {
    for (const cpp_rational& entry : sum) EXPECT_EQ(entry, 0);
    EXPECT_GT(bounds, 0);
    return;
  }
  ASSERT_EQ(found.p.size(), constraints.dim());
  for (std::size_t b = 0; b < sum.size(); ++b) EXPECT_EQ(sum[b], cpp_rational(found.p[b].exact));
  EXPECT_EQ(bounds, cpp_rational(found.squared_norm.exact));
  std::vector<std::size_t> tight;
  for (std::size_t j = 0; j < constraints.size(); ++j) {
    cpp_rational slack = -cpp_rational(constraints.bound(j));
    for (std::size_t b = 0; b < sum.size(); ++b) slack += rows[j][b] * sum[b];
    EXPECT_GE(slack, 0) << j;
    if (slack == 0) tight.push_back(j);
  }
  EXPECT_EQ(found.tight, tight);
  for (const std::size_t j : found.support)
    EXPECT_TRUE(std::binary_search(tight.begin(), tight.end(), j)) << j;
}

void expect_proved(const ExactMargin& found, const Constraints& constraints) {
  expect_proved(found, rows_of(constraints), constraints);
}

ExactMargin solve(const Constraints& constraints) {
  return exact_margin(constraints, hard_margin(constraints));
}

ExactMargin solve(std::span<const double> keys, std::size_t tokens, std::size_t dim,
                  const TokenChoice& choice) {
  return exact_margin(ExactTokens{keys, tokens, dim}, choice,
                      hard_margin(TokenDifferences(keys, tokens, dim, choice)));
}

// The authors' keys as the nearest doubles to their decimals.
TEST(ExactMargin, SingleInputOfThePaper) {
  const std::vector<double> keys{-0.1, 1, 1, 0, 0, 0};
  const cpp_rational x(0.1);
  const cpp_rational length = x * x + 1;
  const std::vector<std::array<cpp_rational, 2>> exact{
      {cpp_rational(-x / length), cpp_rational(1 / length)}, {1, 0}, {-1, cpp_rational(-1 - x)}};
  for (std::size_t alpha = 0; alpha < 3; ++alpha) {
    const ExactMargin found = solve(keys, 3, 2, {.chosen = {alpha}});
    ASSERT_TRUE(found.proved) << found.why_not;
    EXPECT_EQ(strings(found.p), (Strings{exact[alpha][0].str(), exact[alpha][1].str()}));
    EXPECT_LE(found.error, 1e-15);
    EXPECT_EQ(found.exchanges, 0);
  }
}

// The same keys in single precision: single_input_gFalse.json of the reference runs.
TEST(ExactMargin, SingleInputInSinglePrecision) {
  const std::vector<double> keys{-0.10000000149011612, 1, 1, 0, 0, 0};
  const ExactMargin zero = solve(keys, 3, 2, {.chosen = {0}});
  EXPECT_EQ(strings(zero.p), (Strings{"-1801439877791744/18194542499945513",
                                      "18014398509481984/18194542499945513"}));
  EXPECT_EQ(zero.squared_norm.exact, "18014398509481984/18194542499945513");
  EXPECT_EQ(zero.tight, (std::vector<std::size_t>{1}));
  const ExactMargin one = solve(keys, 3, 2, {.chosen = {1}});
  EXPECT_EQ(strings(one.p), (Strings{"1", "0"}));
  EXPECT_EQ(strings(one.lambda), Strings{"1"});
  const ExactMargin two = solve(keys, 3, 2, {.chosen = {2}});
  EXPECT_EQ(strings(two.p), (Strings{"-1", "-147639501/134217728"}));
  EXPECT_EQ(two.squared_norm.exact, "39811820765010985/18014398509481984");
  ASSERT_EQ(two.support.size(), 2);
  const std::size_t first = two.support[0] == 0 ? 0 : 1;
  EXPECT_EQ(two.lambda[first].exact, "147639501/134217728");
  EXPECT_EQ(two.lambda[1 - first].exact, "19995982377737257/18014398509481984");
}

// joint_tightTrue.json and joint_tightFalse.json of the reference runs.
TEST(ExactMargin, JointDataFullAndRelaxed) {
  const auto run = [](double height, bool relaxed) {
    const std::vector<double> keys{0, 0, 1, 1, 0, 0, 1, -1, 0, 0, 0.5, height};
    return solve(keys, 2, 2, {.chosen = {1, 1, 1}, .relaxed = {false, false, relaxed}});
  };
  const ExactMargin tight = run(1, false);
  ASSERT_TRUE(tight.proved) << tight.why_not;
  EXPECT_EQ(strings(tight.p), (Strings{"4/3", "1/3"}));
  EXPECT_EQ(tight.squared_norm.exact, "17/9");
  EXPECT_EQ(tight.squared_norm.value, 17.0 / 9);
  EXPECT_EQ(tight.p[0].value, 4.0 / 3);
  EXPECT_EQ(tight.tight, (std::vector<std::size_t>{1, 2}));
  const std::size_t first = tight.support[0] == 2 ? 0 : 1;
  EXPECT_EQ(tight.lambda[first].exact, "10/9");
  EXPECT_EQ(tight.lambda[1 - first].exact, "7/9");
  const ExactMargin loose = run(1.5, false), relaxed = run(1.5, true);
  EXPECT_EQ(strings(loose.p), (Strings{"5/4", "1/4"}));
  EXPECT_EQ(loose.squared_norm.exact, "13/8");
  EXPECT_EQ(strings(relaxed.p), (Strings{"1", "0"}));
  EXPECT_EQ(strings(relaxed.lambda), (Strings{"1/2", "1/2"}));
  EXPECT_EQ(relaxed.tight, (std::vector<std::size_t>{0, 1}));
}

// 1 + 0.1 is not a double: the two overloads solve different problems, each exactly.
TEST(ExactMargin, DifferencesOfKeysAreNotRounded) {
  const std::vector<double> keys{1, -0.1};
  const TokenChoice choice{.chosen = {0}};
  const TokenDifferences rounded(keys, 2, 1, choice);
  const HardMargin answer = hard_margin(rounded);
  const cpp_rational sum = cpp_rational(0.1) + 1;
  ASSERT_NE(sum, cpp_rational(1.1));
  EXPECT_EQ(exact_margin(ExactTokens{keys, 2, 1}, choice, answer).p[0].exact,
            cpp_rational(1 / sum).str());
  EXPECT_EQ(exact_margin(rounded, answer).p[0].exact, cpp_rational(1 / cpp_rational(1.1)).str());
}

TEST(ExactMargin, RandomSmallIntegers) {
  std::size_t infeasible = 0, degenerate = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const std::size_t n = 1 + seed % 7, tokens = 2 + seed % 4, dim = 1 + seed % 6;
    const std::vector<double> keys = integers(seed, n * tokens, dim, 1 + seed / 3 % 3);
    TokenChoice choice = planted(keys, tokens, dim, seed);
    if (seed % 3 == 1) std::fill(choice.chosen.begin(), choice.chosen.end(), 0);
    const TokenDifferences rows(keys, tokens, dim, choice);
    const HardMargin answer = hard_margin(rows);
    const ExactMargin found = exact_margin(rows, answer);
    SCOPED_TRACE(seed);
    expect_proved(found, rows);
    EXPECT_EQ(found.infeasible, answer.status == MarginStatus::infeasible);
    infeasible += found.infeasible;
    if (found.infeasible) continue;
    EXPECT_LE(found.error, 1e-12);
    degenerate += found.tight.size() > found.support.size();
  }
  EXPECT_GT(infeasible, 30);
  EXPECT_GT(degenerate, 30);
}

TEST(ExactMargin, RandomKeys) {
  const std::vector<std::array<std::size_t, 3>> shapes{
      {3, 7, 2}, {1, 40, 3}, {6, 8, 10}, {10, 5, 10}, {5, 4, 20}};
  for (const auto& [n, tokens, dim] : shapes)
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      const std::vector<double> keys = normals(seed, n * tokens, dim);
      TokenChoice choice = planted(keys, tokens, dim, seed);
      if (seed % 2 == 1) std::fill(choice.chosen.begin(), choice.chosen.end(), 0);
      const TokenDifferences rounded(keys, tokens, dim, choice);
      const HardMargin answer = hard_margin(rounded);
      const ExactMargin found = exact_margin(ExactTokens{keys, tokens, dim}, choice, answer);
      Matrix rows;
      for (std::size_t j = 0; j < rounded.size(); ++j) {
        const std::size_t i = rounded.group(j), t = rounded.token(j);
        rows.emplace_back();
        for (std::size_t b = 0; b < dim; ++b)
          rows.back().push_back(cpp_rational(keys[(i * tokens + choice.chosen[i]) * dim + b]) -
                                cpp_rational(keys[(i * tokens + t) * dim + b]));
      }
      SCOPED_TRACE(testing::Message() << n << ' ' << tokens << ' ' << dim << ' ' << seed);
      expect_proved(found, rows, rounded);
      EXPECT_EQ(found.infeasible, answer.status == MarginStatus::infeasible);
      EXPECT_EQ(found.exchanges, 0);
      EXPECT_LE(found.error, 1e-11);
    }
}

// The plane <(1, 2), p> = 1: hard_margin finds no feasible doubles; there are none to find.
TEST(ExactMargin, EqualityAsTwoRows) {
  const Dense problem{{1, 2, -1, -2}, {1, -1}, 2};
  const ExactMargin found = solve(problem.constraints());
  expect_proved(found, problem.constraints());
  EXPECT_EQ(strings(found.p), (Strings{"1/5", "2/5"}));
  EXPECT_EQ(found.tight, (std::vector<std::size_t>{0, 1}));
}

TEST(ExactMargin, DuplicateRowsAndMoreTightRowsThanDimensions) {
  const Dense problem{{1, 0, 1, 0, 0, 1, 0, 1, 2, 1, 1, 1, 5, 0}, {1, 1, 1, 1, 3, 2, 4}, 2};
  HardMargin answer = hard_margin(problem.constraints());
  for (const auto& support : std::vector<std::vector<Multiplier>>{
           answer.support, {{0, 0.5}, {1, 0.5}, {2, 1}}, {{4, 1}, {5, 1}, {0, 1}, {2, 1}}}) {
    answer.support = support;
    const ExactMargin found = exact_margin(problem.constraints(), answer);
    expect_proved(found, problem.constraints());
    EXPECT_EQ(strings(found.p), (Strings{"1", "1"}));
    EXPECT_EQ(found.squared_norm.exact, "2");
    EXPECT_EQ(found.tight, (std::vector<std::size_t>{0, 1, 2, 3, 4, 5}));
    EXPECT_LE(found.support.size(), 2);
  }
}

TEST(ExactMargin, WrongAnswersAreCorrected) {
  const std::vector<double> keys = normals(3, 48, 6);
  const TokenDifferences rows(keys, 8, 6, planted(keys, 8, 6, 3));
  const HardMargin right = hard_margin(rows);
  const ExactMargin truth = exact_margin(rows, right);
  expect_proved(truth, rows);
  HardMargin empty = right, scaled = right, other = right, claim = right;
  empty.support.clear();
  for (double& x : scaled.p) x *= 1.25;
  other.support = {{1, 1.0}, {7, 1.0}, {12, 1.0}};
  claim.status = MarginStatus::infeasible;
  claim.farkas = {{0, 1.0}, {5, 1.0}};
  for (const HardMargin& wrong : {empty, scaled, other, claim}) {
    const ExactMargin found = exact_margin(rows, wrong);
    expect_proved(found, rows);
    EXPECT_EQ(strings(found.p), strings(truth.p));
  }
  EXPECT_GT(exact_margin(rows, empty).exchanges, 0);
  EXPECT_NEAR(exact_margin(rows, scaled).error, 0.25, 1e-12);
  EXPECT_LE(truth.error, 1e-13);
}

TEST(ExactMargin, WrongClaimOfAnOptimum) {
  const Dense problem{{1, 2, 0, 1, -3, -6}, {1, 1, 1}, 2};
  HardMargin wrong;
  wrong.p = {0.2, 0.4};
  wrong.support = {{0, 0.2}};
  const ExactMargin found = exact_margin(problem.constraints(), wrong);
  expect_proved(found, problem.constraints());
  EXPECT_TRUE(found.infeasible);
  EXPECT_TRUE(found.p.empty());
  std::vector<std::size_t> rows = found.support;
  std::sort(rows.begin(), rows.end());
  EXPECT_EQ(rows, (std::vector<std::size_t>{0, 2}));
}

// Opposite up to one rounding: feasible, far out; doubles call it infeasible or give up.
TEST(ExactMargin, NearlyOppositeRows) {
  const double third = 1.0 / 3;
  const Dense problem{{third, 1, -3 * third, std::nextafter(-3.0, 0.0)}, {1, 1}, 2};
  const ExactMargin found = solve(problem.constraints());
  expect_proved(found, problem.constraints());
  EXPECT_FALSE(found.infeasible);
  EXPECT_GT(found.squared_norm.value, 1e29);
}

TEST(ExactMargin, ZeroRowAndNothingToDo) {
  const Dense zero{{1, 2, 0, 0}, {1, 1}, 2}, none{{}, {}, 3}, slack{{1, 2, 0, 0}, {-1, 0}, 2};
  const ExactMargin found = solve(zero.constraints());
  expect_proved(found, zero.constraints());
  EXPECT_TRUE(found.infeasible);
  EXPECT_EQ(found.support, (std::vector<std::size_t>{1}));
  for (const Dense& problem : {none, slack}) {
    const ExactMargin nothing = solve(problem.constraints());
    expect_proved(nothing, problem.constraints());
    EXPECT_EQ(nothing.squared_norm.exact, "0");
    EXPECT_TRUE(nothing.support.empty());
  }
}

TEST(ExactMargin, ExtremeSizes) {
  std::vector<double> keys = normals(5, 24, 4);
  const TokenChoice choice = planted(keys, 6, 4, 5);
  const double plain = solve(keys, 6, 4, choice).squared_norm.value;
  for (const double size : {0x1p-300, 0x1p300}) {
    std::vector<double> scaled = keys;
    for (double& x : scaled) x *= size;
    const TokenDifferences rows(scaled, 6, 4, choice);
    const ExactMargin found = exact_margin(rows, hard_margin(rows));
    expect_proved(found, rows);
    EXPECT_NEAR(found.squared_norm.value * size * size, plain, 1e-14 * plain);
  }
}

// p is below the doubles or above them: only its strings are right.
TEST(ExactMargin, BeyondTheDoubles) {
  const Dense tiny{{0x1p1000, 0, 0x1p1000, 1}, {0x1p-74, 0x1p-75}, 2};
  const Dense huge{{0x1p-1000, 0x1p-1000}, {0x1p1000}, 2};
  HardMargin guess;
  guess.p = {0, 0};
  const ExactMargin small = exact_margin(tiny.constraints(), guess);
  expect_proved(small, tiny.constraints());
  EXPECT_EQ(small.p[0].exact, cpp_rational(1, cpp_int(cpp_int(1) << 1074)).str());
  EXPECT_EQ(small.p[0].value, 0x1p-1074);
  const ExactMargin large = exact_margin(huge.constraints(), guess);
  expect_proved(large, huge.constraints());
  EXPECT_EQ(large.p[1].exact, cpp_int(cpp_int(1) << 1999).str());
}

TEST(ExactMargin, RefusesWhatIsTooLarge) {
  const std::vector<double> keys = normals(2, 24, 12);
  const TokenDifferences rows(keys, 4, 12, planted(keys, 4, 12, 2));
  const HardMargin answer = hard_margin(rows);
  ASSERT_GT(answer.support.size(), 3);
  const ExactMargin large = exact_margin(rows, answer, {.max_support = 3});
  EXPECT_FALSE(large.proved);
  EXPECT_NE(large.why_not.find("limit of 3"), std::string::npos) << large.why_not;
  HardMargin wrong = answer;
  wrong.support.clear();
  const ExactMargin grown = exact_margin(rows, wrong, {.max_support = 3});
  EXPECT_FALSE(grown.proved);
  EXPECT_NE(grown.why_not.find("more than 3"), std::string::npos) << grown.why_not;
  const ExactMargin brief = exact_margin(rows, wrong, {.max_exchanges = 2});
  EXPECT_FALSE(brief.proved);
  EXPECT_NE(brief.why_not.find("exchanges"), std::string::npos) << brief.why_not;
}

TEST(ExactMargin, BadInput) {
  const Dense problem{{1, 2}, {1}, 2}, broken{{1, NAN}, {1}, 2};
  const HardMargin answer = hard_margin(problem.constraints());
  EXPECT_THROW(exact_margin(broken.constraints(), answer), Error);
  HardMargin short_answer = answer, foreign = answer, infinite = answer;
  short_answer.p.pop_back();
  foreign.support = {{1, 1.0}};
  infinite.p[0] = INFINITY;
  for (const HardMargin& wrong : {short_answer, foreign, infinite})
    EXPECT_THROW(exact_margin(problem.constraints(), wrong), Error);
}

}  // namespace
}  // namespace attractor::solve
