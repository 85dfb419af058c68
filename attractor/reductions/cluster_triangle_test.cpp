#include "attractor/reductions/cluster_triangle.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "tests/support/refusal.hpp"

namespace attractor::meanfield {
namespace {

using std::numbers::pi;

TEST(ClusterTriangle, EdgesAgreeWithMpmath) {
  const struct {
    double pair, third, beta;
  } cases[] = {{1, 1, -2.0 / 3},
               {1, 2, -2.21242796437025827},
               {2, 1, -1.44290460203025365},
               {3, 1, -1.71691244238834754},
               {2, 3, -1.74861980118570265}};
  for (const auto& c : cases) {
    const auto edge = isosceles_edge(c.pair, c.third);
    ASSERT_TRUE(edge.has_value());
    EXPECT_NEAR(edge->beta, c.beta, 1e-13) << c.pair << c.third;
    const auto masses = resting_masses(*edge);
    EXPECT_NEAR(masses[2] / masses[0], c.third / c.pair, 1e-12);
    EXPECT_NEAR(masses[0] + masses[1] + masses[2], 1, 1e-15);
  }
}

// The Laplacian of three springs w_i = h_i (up to a common factor) loses rank at the edge.
TEST(ClusterTriangle, StiffnessVanishesAtTheEdgeAndIsPositiveBelow) {
  const std::array<double, 3> gaps = {2.3, 1.9, 2 * pi - 4.2};
  const double edge = triangle_edge(gaps).value();
  const auto products = [&](double beta) {
    double h[3];
    for (int i = 0; i < 3; ++i)
      h[i] = std::cos(gaps[i]) / std::sin(gaps[i]) - beta * std::sin(gaps[i]);
    EXPECT_GT(h[0] + h[1] + h[2], 0);
    return h[0] * h[1] + h[1] * h[2] + h[2] * h[0];
  };
  EXPECT_NEAR(products(edge), 0, 1e-14);
  EXPECT_GT(products(edge - 0.01), 1e-3);
  EXPECT_LT(products(edge + 0.01), -1e-3);
  EXPECT_LT(edge, -2.0 / 3);
}

TEST(ClusterTriangle, RefusesMassesThatAreNone) {
  EXPECT_EQ(refusal([] { isosceles_edge(1, 0); }),
            "mass = 0 is not allowed for a cluster; allowed: above 0");
}

}  // namespace
}  // namespace attractor::meanfield
