#include "attractor/solve/constraints.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "attractor/base/error.hpp"
#include "attractor/base/random.hpp"

namespace attractor::solve {
namespace {

TEST(Constraints, TokenDifferencesEqualTheirDenseRows) {
  const Stream stream(9, "test.constraints");
  std::vector<double> keys(6 * 5 * 7), p(7);
  stream.normals(0, keys);
  stream.normals(1, p);
  const std::vector<std::size_t> chosen{0, 4, 2, 1, 3, 0};
  const TokenDifferences tokens(keys, 5, 7, {.chosen = chosen, .relaxed = {0, 0, 1, 0, 0, 0}});
  ASSERT_EQ(tokens.size(), 24);
  ASSERT_EQ(tokens.groups(), 6);
  std::vector<double> rows(24 * 7), bounds(24), a(24), b(24);
  for (std::size_t j = 0; j < 24; ++j) {
    const std::size_t i = tokens.group(j), t = tokens.token(j);
    EXPECT_EQ(i, j / 4);
    EXPECT_NE(t, chosen[i]);
    tokens.row(j, std::span(rows).subspan(j * 7, 7));
    for (std::size_t k = 0; k < 7; ++k)
      EXPECT_EQ(rows[j * 7 + k], keys[(i * 5 + chosen[i]) * 7 + k] - keys[(i * 5 + t) * 7 + k]);
    bounds[j] = tokens.bound(j);
    EXPECT_EQ(bounds[j], i == 2 ? 0 : 1);
  }
  tokens.products(p, a);
  DenseConstraints(rows, bounds, 7).products(p, b);
  for (std::size_t j = 0; j < 24; ++j) EXPECT_NEAR(a[j], b[j], 1e-14);
}

TEST(Constraints, BadInput) {
  const std::vector<double> keys(12, 1.0), one{1.0};
  EXPECT_THROW(TokenDifferences(keys, 3, 2, {.chosen = {0}}), Error);
  EXPECT_THROW(TokenDifferences(keys, 3, 2, {.chosen = {0, 3}}), Error);
  EXPECT_THROW(TokenDifferences(keys, 1, 6, {.chosen = {0, 0}}), Error);
  EXPECT_THROW(TokenDifferences(keys, 3, 2, {.chosen = {0, 1}, .relaxed = {true}}), Error);
  EXPECT_THROW(DenseConstraints(keys, one, 5), Error);
}

// The sum cancels to 2^-70: doubles, and long doubles added plainly, see nothing of it.
TEST(Constraints, ProvedSlackSurvivesCancellation) {
  const std::vector<double> g{0x1p40, 1, 0x1p-35, -0x1p40};
  const std::vector<long double> q{1, 1, 0x1p-35L, 1};
  const long double slack = proved_slack(g, 1, q);
  EXPECT_LE(slack, 0x1p-70L);
  EXPECT_GE(slack, 0x1p-70L * (1 - 1e-15L));
  EXPECT_LE(extended_product(g, q) - 1, 0);
}

TEST(Constraints, ProvedSlackIsExactWhereSumsAre) {
  const std::vector<double> g{3, -2, 0.5};
  const std::vector<long double> q{1, 1, 4};
  EXPECT_EQ(proved_slack(g, 3, q), 0);
}

TEST(Constraints, ProvedSlackIsALowerBound) {
  const std::vector<double> g{1, 1};
  const std::vector<long double> q{0.1, 0.2};  // doubles: their sum exceeds 0.3 by 2.8e-17
  const long double slack = proved_slack(g, 0.3, q);
  EXPECT_GT(slack, 2.7e-17L);
  EXPECT_LT(slack, 2.8e-17L);
}

}  // namespace
}  // namespace attractor::solve
