#include "attractor/kernels/pairs/pair_rows.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <numeric>
#include <vector>

#include "tests/support/simd_targets.hpp"

namespace attractor::kernels {
namespace {

class PairRowsTest : public OnOneTarget {};
INSTANTIATE_TEST_SUITE_P(Targets, PairRowsTest, testing::ValuesIn(every_target()), target_name);

struct Cloud {
  std::size_t dim;
  std::vector<double> directions, masses;
};

// Spread tokens, copies, tokens close to others and, if wanted, some without a direction.
Cloud cloud(std::size_t n, std::size_t dim, bool zeros) {
  Cloud c{dim, std::vector<double>(n * dim), std::vector<double>(n)};
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t like = i % 4 == 3 ? i - 3 : i;
    double square = 0;
    for (std::size_t a = 0; a < dim; ++a) {
      const auto phase = static_cast<double>(3 * like + 7 * a + like * a * a);
      double& x = c.directions[i * dim + a] = std::sin(1 + phase) + (i % 8 == 3 ? 1e-7 : 0.0);
      square += x * x;
    }
    for (std::size_t a = 0; a < dim; ++a)
      c.directions[i * dim + a] *= zeros && i % 11 == 5 ? 0 : 1 / std::sqrt(square);
    c.masses[i] = static_cast<double>(1 + i % 3);
  }
  return c;
}

struct Found {
  std::vector<PairRow> rows;
  FarthestPair farthest;
};

template <class Read>
Found read(const Read& pairs, const Cloud& c, PairRowsRequest request) {
  const PairColumns columns(c.directions, c.dim, c.masses);
  Found found{std::vector<PairRow>(request.rows.size()), {}};
  pairs(columns, request, found.rows, found.farthest);
  return found;
}

void expect_the_same(const Cloud& c, const PairRowsRequest& request) {
  const Found fast = read(pair_rows, c, request), plain = read(pair_rows_reference, c, request);
  for (std::size_t r = 0; r < request.rows.size(); ++r) {
    EXPECT_EQ(fast.rows[r].near, plain.rows[r].near) << "row " << r;
    EXPECT_EQ(fast.rows[r].bins, plain.rows[r].bins) << "row " << r;
  }
  EXPECT_EQ(fast.farthest.gap, plain.farthest.gap);
}

TEST_P(PairRowsTest, AreThoseOfPlainLoopsToTheLastBit) {
  for (const std::size_t n : {1UL, 2UL, 7UL, 8UL, 9UL, 31UL, 77UL})
    for (const std::size_t dim : {1UL, 2UL, 3UL, 16UL, 33UL})
      for (const bool zeros : {false, true}) {
        const Cloud c = cloud(n, dim, zeros);
        std::vector<std::uint32_t> rows(std::min(n, kMostPairRows));
        std::iota(rows.begin(), rows.end(), static_cast<std::uint32_t>(n - rows.size()));
        for (const bool upper : {false, true})
          for (const bool histogram : {false, true})
            expect_the_same(c, {rows, 0.3, upper, histogram});
      }
}

TEST_P(PairRowsTest, OfAnyRowsInAnyOrder) {
  const Cloud c = cloud(50, 5, true);
  const std::vector<std::uint32_t> rows{49, 3, 0, 16, 5, 31, 8};
  expect_the_same(c, {rows, 1e-9, false, true});
}

// The k-th of 24 tokens on the circle, 15 degrees apart: 4 within 30 degrees, the farthest
// opposite.
TEST_P(PairRowsTest, OfEvenTokensOnTheCircleAreCounted) {
  Cloud c{2, {}, std::vector<double>(24, 1.0)};
  for (int k = 0; k < 24; ++k) {
    c.directions.push_back(std::cos(k * std::numbers::pi / 12));
    c.directions.push_back(std::sin(k * std::numbers::pi / 12));
  }
  const std::vector<std::uint32_t> rows{0, 11, 23};
  const Found found = read(pair_rows, c, {rows, 1 - std::cos(0.53), false, true});
  for (const PairRow& row : found.rows) {
    EXPECT_EQ(row.near, 4);
    EXPECT_EQ(row.bins[0], 1);           // opposite
    EXPECT_EQ(row.bins[gap_bin(1)], 2);  // at right angles
    EXPECT_EQ(std::accumulate(row.bins.begin(), row.bins.end(), 0.0), 23);
  }
  EXPECT_NEAR(found.farthest.gap, 2, 1e-15);
}

TEST(GapBin, ClosesTheLastBinAndForgivesRounding) {
  EXPECT_EQ(gap_bin(0), kGapBins - 1);
  EXPECT_EQ(gap_bin(2), 0U);
  EXPECT_EQ(gap_bin(2.1), 0U);
  EXPECT_EQ(gap_bin(1), 50U);
  EXPECT_EQ(gap_bin(1 + 1e-13), 50U);
  EXPECT_EQ(gap_bin(1 + 1e-9), 49U);
}

}  // namespace
}  // namespace attractor::kernels
