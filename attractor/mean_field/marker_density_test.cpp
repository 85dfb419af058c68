// Densities of markers against the laws they were made from.
#include "attractor/mean_field/marker_density.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "attractor/mean_field/start_density.hpp"

namespace attractor::meanfield {
namespace {

using std::numbers::pi;

double worst_error(const CircleLaw& law, const WeightedPoints& markers) {
  const std::vector<double> density = marker_density({markers.points, markers.weights}, 64);
  double worst = 0;
  for (std::size_t b = 0; b < 64; ++b) {
    const double angle = 2 * pi * (static_cast<double>(b) + 0.5) / 64 - pi;
    worst = std::max(worst, std::abs(density[b] - law.density(angle)));
  }
  return worst;
}

TEST(MarkerDensity, IsTheLawOnTheCircle) {
  const CircleLaw law = perturbed_circle(2, 0.8);
  const WeightedPoints grid = circle_markers(law, 4096);
  WeightedPoints labels{circle_labels(law, 4096), std::vector<double>(4096, 1. / 4096)};
  for (double& angle : labels.points) angle += 4 * pi;  // turns do not count
  // The mean over a bin differs from its centre by 0.8 k^2 width^2 / 24.
  EXPECT_LT(worst_error(law, grid), 1.5e-3);
  EXPECT_LT(worst_error(law, labels), 3e-3);
}

TEST(MarkerDensity, KeepsTheMassOverTheSeam) {
  const std::vector<double> angles = {3.0, -3.0, 0.5}, weights = {0.2, 0.3, 0.5};
  const std::vector<double> density = marker_density({angles, weights}, 1000);
  EXPECT_NEAR(std::accumulate(density.begin(), density.end(), 0.0) / 1000, 1,
              1e-13);  // ends of bins are rounded to 4e-16, 1e-13 of their width
  // One stretch of mass 0.25 over the seam, 2 pi - 6 long.
  EXPECT_NEAR(density.front(), 0.25 * 2 * pi / (2 * pi - 6), 1e-11);
  EXPECT_NEAR(density.back(), density.front(), 1e-11);
}

TEST(MarkerDensity, TakesPolarAngles) {
  const std::vector<double> angles = {0.5, 1.5, 2.5}, weights = {0.25, 0.5, 0.25};
  const std::vector<double> density = marker_density({angles, weights, false}, 200);
  EXPECT_NEAR(density[60], 0.375 * pi, 1e-12);
  EXPECT_EQ(density[10], 0);
}

TEST(MarkerDensity, AllOnOnePlaceAreInOneBin) {
  const std::vector<double> angles(5, 1.0), weights(5, 0.2);
  const std::vector<double> density = marker_density({angles, weights}, 8);
  // The way around from the last marker to the first is a stretch like any other.
  EXPECT_NEAR(*std::max_element(density.begin(), density.end()), 0.8 * 8 + 0.2, 1e-12);
}

}  // namespace
}  // namespace attractor::meanfield
