// l_inf and l_1 margins against corners of the feasible set in the plane, weak duality formed by
// hand, and the l_p margins that lie beside them.
#include "attractor/solve/norms/polyhedral_margin.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "attractor/base/numbers.hpp"
#include "tests/support/margin_data.hpp"

namespace attractor::solve {
namespace {

constexpr PolyhedralNorm kBoth[] = {PolyhedralNorm::largest, PolyhedralNorm::sum};

long double polytope_norm(const std::vector<long double>& x, PolyhedralNorm norm) {
  long double largest = 0, sum = 0;
  for (const long double value : x) {
    largest = std::max(largest, std::abs(value));
    sum += std::abs(value);
  }
  return norm == PolyhedralNorm::largest ? largest : sum;
}

// Rows that a direction satisfies.
Dense separable(std::uint64_t seed, std::size_t rows, std::size_t dim) {
  Dense data{normals_of("test.polyhedral", seed, rows, dim), std::vector<double>(rows, 1.0), dim};
  const std::vector<double> w = normals_of("test.polyhedral", seed + 1000, 1, dim);
  for (std::size_t j = 0; j < rows; ++j) {
    double* row = &data.rows[j * dim];
    if (std::inner_product(row, row + dim, w.begin(), 0.0) < 0)
      for (std::size_t a = 0; a < dim; ++a) row[a] = -row[a];
  }
  return data;
}

// Weak duality, without the solver's own sums.
void expect_polytope(const LpMargin& found, const Constraints& rows, PolyhedralNorm norm) {
  ASSERT_EQ(found.status, MarginStatus::optimal) << found.relative_gap;
  EXPECT_TRUE(found.upper_is_proved);
  EXPECT_LE(found.relative_gap, 1e-10);
  const std::vector<long double> w(found.w.begin(), found.w.end());
  std::vector<long double> u(rows.dim(), 0);
  long double bounds = 0;
  for (std::size_t j = 0; j < rows.size(); ++j) {
    const std::vector<long double> row = whole_row(rows, j);
    long double product = 0, size = 0;
    for (std::size_t a = 0; a < w.size(); ++a)
      product += row[a] * w[a], size += std::abs(row[a] * w[a]);
    EXPECT_GE(product - rows.bound(j), -0x1p-60L * size) << j;
  }
  for (const auto& [j, value] : found.support) {
    EXPECT_GT(value, 0);
    const std::vector<long double> row = whole_row(rows, j);
    for (std::size_t a = 0; a < u.size(); ++a) u[a] += static_cast<long double>(value) * row[a];
    bounds += static_cast<long double>(value) * rows.bound(j);
  }
  const PolyhedralNorm dual =
      norm == PolyhedralNorm::largest ? PolyhedralNorm::sum : PolyhedralNorm::largest;
  const long double upper = polytope_norm(w, norm), lower = bounds / polytope_norm(u, dual);
  EXPECT_LE(upper, found.upper * (1 + 1e-18L));
  EXPECT_GE(lower, found.lower * (1 - 1e-18L));
  EXPECT_LE(upper - lower, 1e-10L * upper);
}

// In the plane a norm of a polytope is linear between its kinks (the axes or the diagonals), so the
// optimum is a crossing of two lines among the rows and the kinks.
double least_at_corners(const Dense& data, PolyhedralNorm norm) {
  std::vector<std::array<long double, 3>> lines;  // a x + b y = c
  for (std::size_t j = 0; j < data.bounds.size(); ++j)
    lines.push_back({data.rows[2 * j], data.rows[2 * j + 1], data.bounds[j]});
  if (norm == PolyhedralNorm::largest)
    lines.push_back({1, 1, 0}), lines.push_back({1, -1, 0});
  else
    lines.push_back({1, 0, 0}), lines.push_back({0, 1, 0});
  long double least = kInfinity;
  for (std::size_t i = 0; i < lines.size(); ++i)
    for (std::size_t k = 0; k < i; ++k) {
      const auto& [a, b, c] = lines[i];
      const auto& [d, e, f] = lines[k];
      const long double det = a * e - b * d;
      if (det == 0) continue;
      const long double x = (c * e - b * f) / det, y = (a * f - c * d) / det;
      bool feasible = true;
      for (std::size_t j = 0; j < data.bounds.size() && feasible; ++j)
        feasible = data.rows[2 * j] * x + data.rows[2 * j + 1] * y >= data.bounds[j] - 1e-13L;
      if (feasible) least = std::min(least, polytope_norm({x, y}, norm));
    }
  return static_cast<double>(least);
}

TEST(PolyhedralMargin, IsTheBestCornerInThePlane) {
  for (std::uint64_t seed = 0; seed < 40; ++seed)
    for (const PolyhedralNorm norm : kBoth) {
      Dense data = separable(seed, 2 + seed % 7, 2);
      if (seed % 4 == 3) data.bounds[0] = 0;  // relaxed
      const LpMargin found = polyhedral_margin(data.constraints(), {.norm = norm});
      expect_polytope(found, data.constraints(), norm);
      EXPECT_NEAR(found.norm, least_at_corners(data, norm), 1e-10 * found.norm) << seed;
    }
}

// One row g: the best w has <g, w> = |w| |g|_dual.
TEST(PolyhedralMargin, OfOneRowIsTheDualNorm) {
  const Dense data{{3, -1, 2, 0}, {2}, 4};
  EXPECT_NEAR(polyhedral_margin(data.constraints()).norm, 2.0 / 6, 1e-10);
  EXPECT_NEAR(polyhedral_margin(data.constraints(), {.norm = PolyhedralNorm::sum}).norm, 2.0 / 3,
              1e-10);
}

// |w|_inf <= |w|_p <= d^(1/p) |w|_inf for every w, so for the least norms; |.|_1 likewise.
TEST(PolyhedralMargin, LiesBesideThoseOfLargeAndSmallPowers) {
  for (std::uint64_t seed = 0; seed < 6; ++seed)
    for (const auto& [rows, dim] : {std::pair{12, 5}, {6, 20}, {60, 8}}) {
      const Dense data =
          separable(seed, static_cast<std::size_t>(rows), static_cast<std::size_t>(dim));
      const DenseConstraints given = data.constraints();
      const LpMargin largest = polyhedral_margin(given),
                     sum = polyhedral_margin(given, {.norm = PolyhedralNorm::sum});
      expect_polytope(largest, given, PolyhedralNorm::largest);
      expect_polytope(sum, given, PolyhedralNorm::sum);
      const LpMargin high = lp_margin(given, {.p = 50}), low = lp_margin(given, {.p = 1.02});
      EXPECT_LE(largest.lower, high.upper);
      EXPECT_LE(high.lower, std::pow(dim, 1 / 50.0) * largest.upper);
      EXPECT_LE(low.lower, sum.upper);
      EXPECT_LE(sum.lower, std::pow(dim, 1 - 1 / 1.02) * low.upper);
    }
}

TEST(PolyhedralMargin, KnowsWhatIsInfeasibleAndWhatAsksNothing) {
  const Dense opposite{{1, 2, -1, -2}, {1, 1}, 2};
  const LpMargin none = polyhedral_margin(opposite.constraints());
  EXPECT_EQ(none.status, MarginStatus::infeasible);
  EXPECT_EQ(none.lower, kInfinity);
  EXPECT_EQ(none.farkas.size(), 2U);
  const Dense nothing{{1, 2}, {-1}, 2};
  const LpMargin zero = polyhedral_margin(nothing.constraints());
  EXPECT_EQ(zero.status, MarginStatus::optimal);
  EXPECT_EQ(zero.norm, 0);
}

// Rows of sizes 1e-3 to 1e3, and a margin of 1e-6.
TEST(PolyhedralMargin, HoldsForBadlyScaledRows) {
  Dense data = separable(3, 10, 4);
  for (std::size_t j = 0; j < 10; ++j)
    for (std::size_t a = 0; a < 4; ++a)
      data.rows[4 * j + a] *= std::pow(10.0, static_cast<double>(j % 7) - 3);
  const Dense narrow{{1, 1e-6, -1, 1e-6}, {1, 1}, 2};  // w = (0, 1e6)
  for (const PolyhedralNorm norm : kBoth) {
    expect_polytope(polyhedral_margin(data.constraints(), {.norm = norm}), data.constraints(),
                    norm);
    EXPECT_NEAR(polyhedral_margin(narrow.constraints(), {.norm = norm}).norm, 1e6, 1e-4);
  }
}

}  // namespace
}  // namespace attractor::solve
