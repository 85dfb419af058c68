#include "attractor/stability/circle_rest.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "tests/support/refusal.hpp"

namespace attractor::meanfield {
namespace {

using std::numbers::pi;

std::vector<double> polygon(std::size_t clusters, std::size_t each, double aside) {
  std::vector<double> angles;
  for (std::size_t i = 0; i < clusters * each; ++i)
    angles.push_back(2 * pi * static_cast<double>(i % clusters) / static_cast<double>(clusters) +
                     aside * std::sin(static_cast<double>(3 * i)));
  return angles;
}

/// sum_l f'(2 pi l/k) (1 - cos(2 pi j l/k)) / k, the least over j.
double least_rate(std::size_t k, double beta) {
  double least = 1e300;
  for (std::size_t j = 1; j <= k / 2; ++j) {
    double sum = 0;
    for (std::size_t l = 1; l < k; ++l) {
      const double x = 2 * pi * static_cast<double>(l) / static_cast<double>(k);
      sum += std::exp(beta * std::cos(x)) * (std::cos(x) - beta * std::sin(x) * std::sin(x)) *
             (1 - std::cos(static_cast<double>(j) * x));
    }
    least = std::min(least, sum / static_cast<double>(k));
  }
  return least;
}

TEST(CircleRest, PolygonsHaveTheRatesOfTheirWaves) {
  for (const std::size_t k : {3u, 5u, 7u})
    for (const double beta : {-0.5, -3.0, -6.0, 2.0}) {
      const CircleRest rest = rest_near(polygon(k, 1, 1e-3), beta);
      ASSERT_TRUE(rest.found);
      EXPECT_NEAR(rest.least, least_rate(k, beta), rest.error + 1e-12 * std::exp(std::abs(beta)));
      EXPECT_LT(rest.error, 1e-3 * std::abs(rest.least));
      EXPECT_EQ(rest.stable(), least_rate(k, beta) > 0);
      EXPECT_EQ(rest.unstable(), least_rate(k, beta) < 0);
    }
}

TEST(CircleRest, ClustersOfManyTokensHoldTogetherToo) {
  EXPECT_TRUE(rest_near(polygon(3, 4, 1e-3), -0.7).stable());
  EXPECT_TRUE(rest_near(polygon(3, 4, 1e-3), -0.63).unstable());
  EXPECT_TRUE(rest_near(polygon(4, 3, 1e-3), -3).unstable());               // antipodes
  EXPECT_TRUE(rest_near(std::vector<double>{0.1, 0.2, 0.3}, -3).stable());  // one cluster
}

TEST(CircleRest, RefusesWhatIsOutOfReach) {
  EXPECT_EQ(refusal([] {
              rest_near(std::vector<double>{1, 2}, -30);
            }),
            "beta = -30 is not allowed for states of rest; allowed: -20 to 100");
  EXPECT_EQ(refusal([] { rest_near(std::vector<double>{1}, 1); }),
            "1 tokens are no state of rest; allowed: 2 or more");
}

}  // namespace
}  // namespace attractor::meanfield
