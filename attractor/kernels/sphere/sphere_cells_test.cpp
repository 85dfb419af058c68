// Modes of the kernel and polynomials of the cells behind the field on the sphere.
#include "attractor/kernels/sphere/sphere_cells.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace attractor::kernels {
namespace {

TEST(SphereCells, ModesAreScaledBesselFunctions) {  // mpmath, 18 digits
  struct Case {
    double beta;
    std::size_t l;
    double value, slope, along;
  };
  const Case cases[] = {
      {1, 0, 0.432332358381693654, 0.0, 0.135335283236612692},
      {1, 3, 0.0259191791413436003, 0.0259191791413436003, 0.0806088441376146475},
      {100, 0, 0.005, 0.0, 0.00495},
      {100, 20, 0.0250251927373651635, 0.000250251927373651635, 0.025300181167681534},
      {10000, 0, 0.00005, 0.0, 0.000049995},
      {10000, 150, 0.00484934062175909309, 4.84934062175909309e-7, 0.00484940489934267347},
      {0, 0, 1, 0, 0},
      {0, 1, 0, 1, 1},
  };
  for (const Case& c : cases) {
    const SphereModes modes = sphere_modes(c.beta, 1e-13);
    ASSERT_GT(modes.value.size(), c.l);
    EXPECT_NEAR(modes.value[c.l], c.value, 1e-13 * c.value) << c.beta << ' ' << c.l;
    EXPECT_NEAR(modes.slope[c.l], c.slope, 1e-13 * c.slope) << c.beta << ' ' << c.l;
    EXPECT_NEAR(modes.along[c.l], c.along, 1e-13 * c.along) << c.beta << ' ' << c.l;
    EXPECT_LE(modes.tail, 1e-13);
  }
}

// Any polynomial of that degree in the tangent plane comes back from its values at the nodes.
TEST(SphereCells, PolynomialsComeBackFromTheNodes) {
  const SphereCells cells = sphere_cells({.bands = 5, .degree = 6});
  for (const SphereBand& band : cells.bands) {
    const double* frame = cells.frames.data() + 6 * band.first;
    for (std::size_t c = 0; c < cells.coefficients; ++c) {
      double largest = 0;
      for (std::size_t other = 0, b = 0; b <= cells.degree; ++b)
        for (std::size_t a = 0; a <= cells.degree - b; ++a, ++other) {
          double found = 0;  // coefficient c of u^a v^b
          for (std::size_t k = 0; k < band.nodes(); ++k) {
            const std::size_t ring = band.first_ring + k % band.rings;
            const double phi = band.longitudes[k], sine = cells.ring_sine[ring];
            const std::array<double, 3> x = {sine * std::cos(phi), sine * std::sin(phi),
                                             cells.ring_cosine[ring]};
            const double u = x[0] * frame[0] + x[1] * frame[1] + x[2] * frame[2];
            const double v = x[0] * frame[3] + x[1] * frame[4] + x[2] * frame[5];
            found += band.target[k * cells.stride + c] * std::pow(u, a) * std::pow(v, b);
          }
          largest = std::max(largest, std::abs(found - (other == c ? 1 : 0)));
        }
      EXPECT_LT(largest, 1e-12) << "band of " << band.count << " coefficient " << c;
    }
  }
}

// Every cell lies within its reach: |u|, |v| <= 1 at its corners, and cells tile the sphere.
TEST(SphereCells, CellsTileTheSphere) {
  for (const std::size_t bands : {3U, 8U, 31U}) {
    const SphereCells cells = sphere_cells({.bands = bands, .degree = 4});
    EXPECT_NEAR(cells.cap + static_cast<double>(bands) * cells.height, std::acos(0.0), 1e-14);
    std::size_t next = 0;
    for (const SphereBand& band : cells.bands) {
      EXPECT_EQ(band.first, next);
      next += 2 * band.count;
    }
    EXPECT_EQ(next, cells.count);
    for (std::size_t b = 1; b <= bands; ++b) {
      const double* frame = cells.frames.data() + 6 * cells.bands[b].first;
      const double turn = 4 * std::acos(0.0) / static_cast<double>(cells.bands[b].count);
      const double top = cells.cap + static_cast<double>(b - 1) * cells.height;
      for (const double theta : {top, top + cells.height})
        for (const double phi : {0.0, turn / 2, turn}) {
          const double x = std::sin(theta) * std::cos(phi), y = std::sin(theta) * std::sin(phi);
          EXPECT_LE(std::abs(x * frame[0] + y * frame[1] + std::cos(theta) * frame[2]), 1 + 1e-12);
          EXPECT_LE(std::abs(x * frame[3] + y * frame[4]), 1 + 1e-12);
        }
    }
  }
}

}  // namespace
}  // namespace attractor::kernels
