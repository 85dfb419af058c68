#include "attractor/depth/mean_shift/density_modes.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "attractor/base/random.hpp"
#include "tests/support/refusal.hpp"

namespace attractor::depth {
namespace {

using std::numbers::pi;

TEST(DensityModes, TwoPointsHaveTwoModesBeyondTwoBandwidths) {
  for (const double beta : {1.0, 1e4, 1e10}) {
    const double h = 1 / std::sqrt(beta);
    for (const double at : {-3.7, 0.0, 1.0 / 3}) {
      EXPECT_EQ(density_modes(std::vector{at, at + 1.99 * h}, beta, Curve::line).size(), 1U);
      EXPECT_EQ(density_modes(std::vector{at, at + 2.01 * h}, beta, Curve::line).size(), 2U);
    }
  }
}

TEST(DensityModes, OnTheCircleTheEdgeIsWhereTheMiddleTurns) {
  // K'' in the middle: beta sin^2(delta/2) = cos(delta/2).
  for (const double beta : {16.0, 100.0, 1e6})
    for (const double at : {0.0, 3.0, 2 * pi - 1e-3}) {
      const double c = (std::sqrt(1 + 4 * beta * beta) - 1) / (2 * beta);
      const double edge = 2 * std::acos(c);
      for (const double factor : {0.995, 1.005}) {
        const std::vector points{at, at + factor * edge};
        EXPECT_EQ(density_modes(points, beta, Curve::circle).size(), factor < 1 ? 1U : 2U)
            << beta << " " << at;
      }
    }
}

/// Changes of sign of K', summed point by point on a grid twice as fine.
std::size_t counted(const std::vector<double>& points, double beta, double from, double to) {
  const double step = 1 / (16 * std::sqrt(beta));
  std::size_t modes = 0;
  double before = 1;
  for (double t = from; t <= to; t += step) {
    double slope = 0;
    for (const double x : points) slope += (x - t) * std::exp(-beta * (x - t) * (x - t) / 2);
    if (before > 0 && slope < 0) ++modes;
    if (slope != 0) before = slope;
  }
  return modes;
}

TEST(DensityModes, CountWhatPlainSumsCount) {
  const Stream stream(3, "density modes test");
  for (const double beta : {10.0, 300.0, 3000.0})
    for (std::uint64_t sample = 0; sample < 3; ++sample) {
      std::vector<double> points(120);
      stream.normals(sample, points);
      EXPECT_EQ(density_modes(points, beta, Curve::line).size(), counted(points, beta, -5, 5))
          << beta;
    }
}

TEST(DensityModes, RotatedPointsHaveRotatedModes) {
  const Stream stream(4, "density modes test");
  std::vector<double> points(5000), turned;
  for (std::size_t i = 0; i < points.size(); ++i) points[i] = 2 * pi * stream.uniform(0, i);
  for (const double x : points) turned.push_back(x + 1);
  const auto modes = density_modes(points, 400, Curve::circle),
             again = density_modes(turned, 400, Curve::circle);
  ASSERT_EQ(modes.size(), again.size());
  for (const double mode : modes) {
    double nearest = 7;
    for (const double other : again)
      nearest = std::min(nearest, std::abs(std::remainder(other - mode - 1, 2 * pi)));
    // The cubic between nodes: a few 1e-6 of a bandwidth, more where K' is flat.
    EXPECT_LT(nearest, 1e-3 / 20);
  }
}

TEST(DensityModes, RefuseWhatHasNone) {
  EXPECT_TRUE(density_modes({}, 1, Curve::line).empty());
  EXPECT_SAYS(refusal([] { density_modes(std::vector{1.0}, 2, Curve::circle); }),
              "beta is 2; allowed: at least 16");
  EXPECT_SAYS(refusal([] { density_modes(std::vector{1.0}, -1, Curve::line); }), "above 0");
  EXPECT_SAYS(refusal([] { density_modes(std::vector<double>{NAN}, 1, Curve::line); }),
              "must be finite");
}

}  // namespace
}  // namespace attractor::depth
