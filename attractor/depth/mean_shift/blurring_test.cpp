// Blurring mean shift against a plain loop, its shrinking rate, and what it must keep.
#include "attractor/depth/mean_shift/blurring.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "attractor/space/space.hpp"
#include "tests/support/random_rows.hpp"

namespace attractor::depth {
namespace {

using Rows = std::vector<double>;

Rows plain_blur(const Rows& x, std::size_t d, double beta, bool sphere) {
  Rows next(x.size());
  for (std::size_t i = 0; i < x.size() / d; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < x.size() / d; ++j) {
      double square = 0;
      for (std::size_t a = 0; a < d; ++a) square += std::pow(x[i * d + a] - x[j * d + a], 2);
      const double w = std::exp(-0.5 * beta * square);
      sum += w;
      for (std::size_t a = 0; a < d; ++a) next[i * d + a] += w * x[j * d + a];
    }
    const std::span<double> row = std::span(next).subspan(i * d, d);
    for (double& c : row) c /= sum;
    if (sphere) Sphere(d).retract(row);
  }
  return next;
}

/// Three clouds, point i in cloud i % 3.
Rows three_clouds(std::size_t n, std::size_t d, double spread) {
  Rows x = normals_of("blurring test", 4, n, d);
  for (std::size_t i = 0; i < n; ++i) x[i * d + i % 3] += spread;
  return x;
}

TEST(Blurring, StepsAreThoseOfAPlainLoop) {
  for (const bool sphere : {false, true}) {
    Rows x = three_clouds(60, 3, 4);
    if (sphere) x = unit_rows(x, 3);
    const double beta = sphere ? 20 : 1;
    const Blurring two = blurring_mean_shift(
        x, 3, {.beta = beta, .on_sphere = sphere, .tolerance = 1e-15, .iterations = 2});
    EXPECT_FALSE(two.gathered);
    const Rows truth = plain_blur(plain_blur(x, 3, beta, sphere), 3, beta, sphere);
    for (std::size_t k = 0; k < x.size(); ++k) EXPECT_NEAR(two.points[k], truth[k], 1e-13);
  }
}

TEST(Blurring, FindsCloudsAndSortsThemBySize) {
  Rows x = three_clouds(300, 3, 12);
  x.resize((300 - 1) * 3);  // cloud 2 has one point less
  const Blurring found = blurring_mean_shift(x, 3, {.beta = 1});
  ASSERT_TRUE(found.gathered);
  ASSERT_EQ(found.sizes, (std::vector<std::size_t>{100, 100, 99}));
  for (std::size_t i = 0; i < 299; ++i) EXPECT_EQ(found.labels[i], i % 3);
  // A cloud gathers near its centre: within five deviations of its mean.
  for (std::size_t g = 0; g < 3; ++g) EXPECT_NEAR(found.centres[g * 3 + g], 12, 0.5);
}

// A Gaussian cloud of deviation s becomes one of s^3 / (s^2 + 1/beta): the rate is cubic.
TEST(Blurring, ACloudShrinksAtACubicRate) {
  const std::size_t n = 2000;
  Rows x = normals_of("blurring test", 5, n, 1);
  const auto deviation = [&](const Rows& points) {
    double sum = 0, square = 0;
    for (const double c : points) sum += c, square += c * c;
    return std::sqrt(square / n - std::pow(sum / n, 2));
  };
  double s = deviation(x);
  for (const std::size_t steps : {1U, 2U}) {
    const Blurring after =
        blurring_mean_shift(x, 1, {.beta = 1, .tolerance = 1e-12, .iterations = steps});
    s = s * s * s / (s * s + 1);
    // 2000 draws are a Gaussian to a few percent; the second step cubes what differs.
    EXPECT_NEAR(deviation(after.points) / s, 1, steps == 1 ? 0.1 : 0.3);
  }
}

TEST(Blurring, StopsWhenToldToAndOnePointIsACluster) {
  const Rows x = three_clouds(30, 3, 4);
  std::size_t asked = 0;
  const Blurring stopped =
      blurring_mean_shift(x, 3, {.watch = [&](std::size_t) { return ++asked < 2; }});
  EXPECT_FALSE(stopped.gathered);
  EXPECT_EQ(stopped.iterations, 1U);
  const Blurring one = blurring_mean_shift(Rows{1, 2, 3}, 3, {});
  EXPECT_TRUE(one.gathered);
  EXPECT_EQ(one.centres, (Rows{1, 2, 3}));
  EXPECT_EQ(one.labels, (std::vector<std::uint32_t>{0}));
}

}  // namespace
}  // namespace attractor::depth
