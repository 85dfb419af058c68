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

}  // namespace
}  // namespace attractor::solve
