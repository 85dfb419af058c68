// Minima on balls against closed forms: interior, boundary, indefinite, and log-sum-exp at radii
// where the function itself has underflowed.
#include "attractor/solve/ball_minimum.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace attractor::solve {
namespace {

// f = 1/2 sum a_k (x_k - c_k)^2.
BallFunction quadratic(std::vector<double> a, std::vector<double> c) {
  return {.f = [a, c](std::span<const double> x, std::span<double> gradient) {
    double f = 0;
    for (std::size_t k = 0; k < x.size(); ++k) {
      gradient[k] = a[k] * (x[k] - c[k]);
      f += gradient[k] * (x[k] - c[k]) / 2;
    }
    return f;
  }};
}

TEST(BallMinimum, InsideIsTheFreeMinimum) {
  const auto m =
      ball_minimum(quadratic({1, 100, 3}, {0.1, 0.2, -0.3}), std::vector<double>{1.0, 1, 1}, 2);
  EXPECT_FALSE(m.on_boundary);
  EXPECT_NEAR(m.x[0], 0.1, 1e-10);
  EXPECT_NEAR(m.x[1], 0.2, 1e-10);
  EXPECT_NEAR(m.x[2], -0.3, 1e-10);
}

// On the boundary x_k = a_k c_k / (a_k + mu) with |x| = R: mu checked by the other coordinate.
TEST(BallMinimum, OnTheBoundaryIsStationary) {
  const std::vector<double> a{1, 50, 3}, c{10, 2, -7};
  const auto m = ball_minimum(quadratic(a, c), std::vector<double>{0.0, 0.1, 0}, 2);
  ASSERT_TRUE(m.on_boundary);
  EXPECT_NEAR(std::hypot(m.x[0], m.x[1], m.x[2]), 2, 1e-12);
  const double mu = a[0] * c[0] / m.x[0] - a[0];
  EXPECT_GT(mu, 0);
  for (std::size_t k = 0; k < 3; ++k) EXPECT_NEAR(m.x[k], a[k] * c[k] / (a[k] + mu), 1e-10);
}

// A concave function: the minimum is the boundary point of the steepest axis; the start is a
// saddle's neighbour.
TEST(BallMinimum, EscapesSaddles) {
  const auto m =
      ball_minimum(quadratic({-1, -5, -2}, {0, 0, 0}), std::vector<double>{1.0, 1e-3, 0}, 1);
  EXPECT_TRUE(m.on_boundary);
  EXPECT_NEAR(std::abs(m.x[1]), 1, 1e-10);
}

// A start on the boundary stays there where nothing changes inwards; one inside stays inside.
TEST(BallMinimum, IsInsideOnlyIfTheBoundaryIsHigher) {
  const BallFunction flat{.f = [](std::span<const double>, std::span<double> gradient) {
    std::fill(gradient.begin(), gradient.end(), 0.0);
    return 3.0;
  }};
  for (double radius : {0.01, 1.0, 40.0}) {
    const auto edge = ball_minimum(flat, std::vector<double>{0.6 * radius, 0.8 * radius}, radius);
    EXPECT_TRUE(edge.on_boundary);
    EXPECT_NEAR(std::hypot(edge.x[0], edge.x[1]), radius, 1e-14 * radius);
    const auto inside = ball_minimum(flat, std::vector<double>{0.3 * radius, 0.4 * radius}, radius);
    EXPECT_FALSE(inside.on_boundary);
    const auto near = ball_minimum(quadratic({1, 2}, {0.597 * radius, 0.796 * radius}),
                                   std::vector<double>{0.6 * radius, 0.8 * radius}, radius);
    EXPECT_FALSE(near.on_boundary);
    EXPECT_NEAR(std::hypot(near.x[0], near.x[1]), 0.995 * radius, 1e-9 * radius);
  }
}

// ln(e^{-2 x} + e^{-y}) on |(x, y)| = R: stationary where the softmax weights (w, 1 - w) make
// (2w, 1 - w) parallel to (x, y); e^{-R} is far below any double.
TEST(BallMinimum, LogSumExpAtAnyRadius) {
  for (double radius : {1.0, 10.0, 1e3, 1e6}) {
    const BallFunction f{.f = [](std::span<const double> x, std::span<double> gradient) {
      const double u = -2 * x[0], v = -x[1], top = std::max(u, v);
      const double sum = std::exp(u - top) + std::exp(v - top);
      gradient[0] = -2 * std::exp(u - top) / sum;
      gradient[1] = -std::exp(v - top) / sum;
      return top + std::log(sum);
    }};
    const auto m = ball_minimum(f, std::vector<double>{radius, 0.1 * radius}, radius);
    const double w = 1 / (1 + std::exp(2 * m.x[0] - m.x[1]));
    EXPECT_NEAR(2 * w * m.x[1] / radius, (1 - w) * m.x[0] / radius, 1e-9) << radius;
    EXPECT_LE(m.residual, 1e-9) << radius;
    // For large R the two terms balance: y = 2 x up to a constant.
    if (radius > 100) {
      EXPECT_NEAR(m.x[1] / m.x[0], 2, 10 / radius);
    }
  }
}

}  // namespace
}  // namespace attractor::solve
