#include "attractor/observe/principal_axes.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "attractor/base/random.hpp"
#include "attractor/space/space.hpp"

namespace attractor::observe {
namespace {

// Points a u + b v + c w of orthonormal u, v, w with a, b, c = +-3, +-2, +-1 in all combinations:
// variances 9, 4, 1.
TEST(PrincipalAxes, AreThoseAlongWhichPointsWereSpread) {
  for (const std::size_t dim : {3U, 5U, 40U}) {  // also more coordinates than points
    std::vector<double> basis(3 * dim), points;
    for (std::size_t k = 0; k < 3; ++k) {
      const auto own = std::span(basis).subspan(k * dim, dim);
      Stream(4, "axes").normals(k, own);
      for (std::size_t j = 0; j < k; ++j) {
        const auto before = std::span(basis).subspan(j * dim, dim);
        const double along = dot(own, before);
        for (std::size_t a = 0; a < dim; ++a) own[a] -= along * before[a];
      }
      Sphere(dim).retract(own);
    }
    for (int corner = 0; corner < 8; ++corner)
      for (std::size_t a = 0; a < dim; ++a)
        points.push_back(7 + (corner & 1 ? 3 : -3) * basis[a] +
                         (corner & 2 ? 2 : -2) * basis[dim + a] +
                         (corner & 4 ? 1 : -1) * basis[2 * dim + a]);
    const PrincipalAxes found = principal_axes(points, dim, 3);
    for (std::size_t k = 0; k < 3; ++k) {
      const auto axis = std::span(found.axes).subspan(k * dim, dim);
      EXPECT_NEAR(std::abs(dot(axis, std::span(basis).subspan(k * dim, dim))), 1, 1e-13);
      double largest = 0;
      for (const double x : axis)
        if (std::abs(x) > std::abs(largest)) largest = x;
      EXPECT_GT(largest, 0);
    }
    EXPECT_NEAR(found.shares[0], 9. / 14, 1e-13);
    EXPECT_NEAR(found.shares[1], 13. / 14, 1e-13);
    EXPECT_NEAR(found.shares[2], 1, 1e-13);
  }
}

TEST(PrincipalAxes, OfNothingAndOfOnePointAreZero) {
  EXPECT_EQ(principal_axes({}, 2, 2).axes, std::vector<double>(4, 0.0));
  const std::vector<double> one = {3, 4};
  EXPECT_EQ(principal_axes(one, 2, 2).shares, std::vector<double>(2, 1.0));
}

}  // namespace
}  // namespace attractor::observe
