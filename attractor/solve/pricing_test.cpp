#include "attractor/solve/pricing.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "attractor/solve/margin_proof.hpp"
#include "tests/support/margin_data.hpp"

namespace attractor::solve {
namespace {

// Distances from half-spaces as they stand: (h + lift |g| - <g, p>) / |g|.
double distance(const Constraints& rows, std::size_t j, const std::vector<double>& p, double lift) {
  std::vector<double> g(rows.dim());
  rows.row(j, g);
  return (rows.bound(j) - std::inner_product(g.begin(), g.end(), p.begin(), 0.0)) / length(g) +
         lift;
}

TEST(Pricing, TakesTheWorstRowOfEveryGroupTheWorstGroupsFirst) {
  const std::size_t inputs = 40, tokens = 5, dim = 3;
  const std::vector<double> keys = normals_of("test.pricing", 1, inputs * tokens, dim);
  const std::vector<double> p = normals_of("test.pricing", 2, 1, dim);
  const TokenDifferences rows(keys, tokens, dim, {.chosen = std::vector<std::size_t>(inputs, 0)});
  const MarginProof proof(rows);
  Pricing pricing(rows, proof.norms());
  for (const double lift : {0.0, 0.5, -0.5}) {
    const std::vector<std::size_t> active = {0, 7};
    const std::vector<std::size_t> found = pricing.worst(p, active, lift);
    EXPECT_TRUE(std::is_sorted(found.begin(), found.end(), [&](std::size_t a, std::size_t b) {
      return distance(rows, a, p, lift) > distance(rows, b, p, lift);
    }));
    for (std::size_t i = 0; i < inputs; ++i) {
      std::size_t worst = rows.size();
      for (std::size_t j = i * (tokens - 1); j < (i + 1) * (tokens - 1); ++j)
        if (j != 0 && j != 7 && distance(rows, j, p, lift) > 0 &&
            (worst == rows.size() || distance(rows, j, p, lift) > distance(rows, worst, p, lift)))
          worst = j;
      EXPECT_EQ(std::count(found.begin(), found.end(), worst), worst < rows.size() ? 1 : 0);
    }
    EXPECT_LE(found.size(), inputs);
  }
}

TEST(Pricing, OffersAtMostTwiceTheDimensionOr64AndNothingThatHolds) {
  const std::size_t count = 500;
  for (const std::size_t dim : {3U, 50U}) {
    const Dense problem{normals_of("test.pricing", 3, count, dim), std::vector<double>(count, 1.0),
                        dim};
    const DenseConstraints rows = problem.constraints();
    const MarginProof proof(rows);
    Pricing pricing(rows, proof.norms());
    const std::vector<double> zero(dim, 0.0);
    EXPECT_EQ(pricing.worst(zero, {}).size(), std::max<std::size_t>(64, 2 * dim));
    EXPECT_TRUE(pricing.worst(zero, {}, -1e3).empty());
  }
}

}  // namespace
}  // namespace attractor::solve
