#include "attractor/commands/density/density_scene.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "attractor/base/numbers.hpp"

namespace attractor::lab {
namespace {

using std::numbers::pi;

DensityHistory waves(double mode, double amplitude) {
  DensityHistory h;
  for (int k = 0; k < 360; ++k) h.angles.push_back(-pi + 2 * pi * k / 360);
  for (const double size : {0.0, amplitude}) {
    h.times.push_back(size);
    std::vector<double>& row = h.density.emplace_back();
    for (const double angle : h.angles) row.push_back(1 + size * std::cos(mode * angle));
  }
  return h;
}

TEST(Crowds, CountsPlacesAboveUniform) {
  for (const double mode : {1.0, 2.0, 3.0, 7.0})
    EXPECT_EQ(crowds(waves(mode, 0.9).density[1], true), static_cast<std::size_t>(mode));
  EXPECT_EQ(crowds(waves(3, 0.01).density[1], true), 0u) << "as good as uniform";
  // A crowd over the seam of the circle is one, at the ends of a polar angle two.
  const std::vector<double> ends = {9, 0.1, 0.1, 9};
  EXPECT_EQ(crowds(ends, true), 1u);
  EXPECT_EQ(crowds(ends, false), 2u);
  EXPECT_EQ(crowds(std::vector<double>{2, 2, 2}, true), 1u);
  EXPECT_EQ(crowds(std::vector<double>{0.5, kNan, 3}, false), 1u);
}

// Thickness of the ring is ln(1 + f): read back from its outline.
TEST(DensityScene, TheRingIsTheDensity) {
  const DensityHistory h = waves(2, 0.9);
  const report::Scene scene = density_scene(h);
  ASSERT_EQ(scene.moments(), 2u);
  const report::MovingLine& ring = scene.plane->lines[0];
  const double outer = std::hypot(ring.x[1][0], ring.y[1][0]) - 0.42;  // angle 0: the crowd
  for (std::size_t k = 0; k <= 240; k += 30) {
    const double angle = 2 * pi * static_cast<double>(k) / 240;
    const double thick = std::hypot(ring.x[1][k], ring.y[1][k]) - 0.42;
    EXPECT_NEAR(thick / outer, std::log1p(1 + 0.9 * std::cos(2 * angle)) / std::log1p(1.9), 2e-3);
  }
  EXPECT_EQ(scene.clocks[0].at, h.times);
  EXPECT_NE(scene.labels[1].find("1.9 × uniform"), std::string::npos) << scene.labels[1];
}

TEST(DensityScene, AnAxisPointsUp) {
  DensityHistory h{
      .circle = false, .angles = {0, pi / 2, pi}, .times = {0}, .density = {{5, 1, 0}}};
  const report::MovingLine ring = density_scene(h).plane->lines[0];
  const auto at = [&](std::size_t k) { return std::hypot(ring.x[0][k], ring.y[0][k]); };
  EXPECT_GT(at(60), at(0));            // up: the pole
  EXPECT_NEAR(at(0), at(120), 1e-12);  // both sides alike
  EXPECT_NEAR(at(180), 0.42, 1e-12);   // down: nothing
}

}  // namespace
}  // namespace attractor::lab
