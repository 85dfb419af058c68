#include "attractor/solve/min_norm_point.hpp"

#include <gtest/gtest.h>

#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <numbers>

#include "attractor/base/random.hpp"
#include "attractor/base/threads.hpp"

namespace attractor::solve {
namespace {

using boost::multiprecision::cpp_rational;

std::vector<double> shifted_normals(std::uint64_t seed, std::size_t n, std::size_t dim,
                                    double shift = 0) {
  const Stream stream(seed, "test.min_norm_point");
  std::vector<double> points(n * dim);
  for (std::size_t i = 0; i < n; ++i) {
    stream.normals(i, std::span(points).subspan(i * dim, dim));
    points[i * dim] += shift;
  }
  return points;
}

// What every answer owes, whatever its status: convex coefficients that give the point, and a gap
// that is the stated one.
void expect_consistent(const MinNormPoint& found, std::span<const double> points, std::size_t dim) {
  ASSERT_EQ(found.point.size(), dim);
  ASSERT_FALSE(found.coefficients.empty());
  EXPECT_LE(found.coefficients.size(), dim + 1);
  std::vector<double> sum(dim, 0.0);
  double total = 0;
  for (const auto& [index, weight] : found.coefficients) {
    ASSERT_LT(index, points.size() / dim);
    EXPECT_GT(weight, 0);
    total += weight;
    for (std::size_t a = 0; a < dim; ++a) sum[a] += weight * points[index * dim + a];
  }
  EXPECT_NEAR(total, 1, 1e-13);
  double square = 0, smallest = INFINITY;
  for (std::size_t a = 0; a < dim; ++a) {
    EXPECT_NEAR(found.point[a], sum[a], 1e-13 * found.scale);
    square += found.point[a] * found.point[a];
  }
  for (std::size_t i = 0; i < points.size() / dim; ++i) {
    double product = 0;
    for (std::size_t a = 0; a < dim; ++a) product += points[i * dim + a] * found.point[a];
    smallest = std::min(smallest, product);
  }
  const double rounding = 1e-14 * found.scale * found.norm;
  EXPECT_NEAR(found.norm, std::sqrt(square), 1e-14 * found.scale);
  EXPECT_NEAR(found.smallest_product, smallest, rounding);
  // It holds what the point misses the hull by as well: roundings of `scale`.
  const double miss = 1e-14 * found.scale;
  EXPECT_GE(found.gap, square - smallest - rounding);
  EXPECT_LE(found.gap, square - smallest + rounding + miss * (found.norm + miss));
}

// The gap and the product of the answer in rational numbers.
TEST(MinNormPoint, GapAndProductAreRoundedOutwards) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Stream stream(seed, "test.min_norm_bounds");
    const std::size_t dim = 2 + seed % 6, count = dim + 1 + seed % 5;
    std::vector<double> points(count * dim);
    stream.normals(0, points);
    for (std::size_t i = 0; i < count; ++i) points[i * dim] = 0.1 + std::abs(points[i * dim]);
    const MinNormPoint found = min_norm_point(points, dim);
    cpp_rational square = 0, smallest;
    for (const double z : found.point) square += cpp_rational(z) * cpp_rational(z);
    for (std::size_t i = 0; i < count; ++i) {
      cpp_rational product = 0;
      for (std::size_t a = 0; a < dim; ++a)
        product += cpp_rational(points[i * dim + a]) * cpp_rational(found.point[a]);
      if (i == 0 || product < smallest) smallest = product;
    }
    EXPECT_LE(cpp_rational(found.smallest_product), smallest) << seed;
    EXPECT_GE(cpp_rational(found.gap), cpp_rational(square - smallest)) << seed;
    EXPECT_GT(found.gap, 0) << seed;
  }
}

TEST(MinNormPoint, OnePointAndItsCopies) {
  for (const std::size_t copies : {1, 2, 50}) {
    std::vector<double> points;
    for (std::size_t i = 0; i < copies; ++i) points.insert(points.end(), {3.0, -4.0});
    const MinNormPoint found = min_norm_point(points, 2);
    EXPECT_EQ(found.status, MinNormStatus::optimal);
    EXPECT_DOUBLE_EQ(found.norm, 5);
    EXPECT_EQ(found.coefficients.size(), 1u);
    expect_consistent(found, points, 2);
  }
}

TEST(MinNormPoint, OnASegment) {
  const std::vector<double> middle = {1, -1, 1, 3};  // collinear: the foot is (1, 0)
  EXPECT_NEAR(min_norm_point(middle, 2).point[0], 1, 1e-15);
  EXPECT_NEAR(min_norm_point(middle, 2).point[1], 0, 1e-15);
  const std::vector<double> end = {2, 1, 4, 2, 3, 1.5, 6, 3, 2, 1};  // radial, with a copy
  const MinNormPoint found = min_norm_point(end, 2);
  EXPECT_EQ(found.status, MinNormStatus::optimal);
  EXPECT_NEAR(found.norm, std::sqrt(5), 1e-15);
  expect_consistent(found, end, 2);
}

TEST(MinNormPoint, SimplexHasItsCentre) {
  const std::size_t dim = 37;
  std::vector<double> points(dim * dim, 0.0);
  for (std::size_t i = 0; i < dim; ++i) points[i * dim + i] = 1;
  const MinNormPoint found = min_norm_point(points, dim);
  EXPECT_EQ(found.status, MinNormStatus::optimal);
  EXPECT_NEAR(found.norm, 1 / std::sqrt(37.0), 1e-15);
  for (const auto& c : found.coefficients) EXPECT_NEAR(c.weight, 1 / 37.0, 1e-14);
  expect_consistent(found, points, dim);
}

TEST(MinNormPoint, WeightedHandComputedTriangle) {
  // Plane x/1 + y/2 + z/4 = 1: foot n/|n|^2 with n = (1, 1/2, 1/4), inside the triangle.
  const std::vector<double> points = {1, 0, 0, 0, 2, 0, 0, 0, 4, 5, 5, 5};
  const MinNormPoint found = min_norm_point(points, 3);
  EXPECT_EQ(found.status, MinNormStatus::optimal);
  for (std::size_t a = 0; a < 3; ++a)
    EXPECT_NEAR(found.point[a], std::pow(0.5, double(a)) * 16 / 21, 1e-15);
  expect_consistent(found, points, 3);
}

TEST(MinNormPoint, OriginInTheHull) {
  const std::vector<double> cross = {1, 0, -1, 0, 0, 1, 0, -1};
  const std::vector<double> vertex = {1, 2, 0, 0, -3, 1};
  const std::vector<double> nothing = {0, 0, 0, 0};
  for (const auto& points : {cross, vertex, nothing}) {
    const MinNormPoint found = min_norm_point(points, 2);
    EXPECT_EQ(found.status, MinNormStatus::optimal);
    EXPECT_LE(found.norm, 1e-15);
    expect_consistent(found, points, 2);
  }
  for (const std::size_t dim : {3, 10, 40}) {
    const std::vector<double> cloud = shifted_normals(dim, 6 * dim, dim);
    const MinNormPoint found = min_norm_point(cloud, dim);
    EXPECT_EQ(found.status, MinNormStatus::optimal);
    EXPECT_LE(found.norm, 1e-12 * found.scale);
    expect_consistent(found, cloud, dim);
  }
}

TEST(MinNormPoint, RandomCloudsAreOptimal) {
  for (const std::size_t dim : {2, 3, 8, 33, 100})
    for (const std::size_t n : {2, 7, 60, 400}) {
      const std::vector<double> points = shifted_normals(100 * dim + n, n, dim, 4.5);
      const MinNormPoint found = min_norm_point(points, dim);
      EXPECT_EQ(found.status, MinNormStatus::optimal) << n << " x " << dim;
      EXPECT_LE(found.gap, 1e-12 * found.norm * found.scale);
      expect_consistent(found, points, dim);
    }
}

// Points a eps-lift above the equator in many directions: |z*| is the lift itself.
TEST(MinNormPoint, KeepsItsDigitsNearTheOrigin) {
  for (const double lift : {1e-3, 1e-6, 1e-9, 1e-11}) {
    std::vector<double> points;
    for (std::size_t i = 0; i < 30; ++i) {
      const double t = 2 * std::numbers::pi * 0.61803398875 * double(i);
      points.insert(points.end(), {std::cos(t), std::sin(t), lift});
    }
    const MinNormPoint found = min_norm_point(points, 3);
    EXPECT_EQ(found.status, MinNormStatus::optimal);
    EXPECT_NEAR(found.norm, lift, 1e-14);
    EXPECT_NEAR(found.smallest_product / found.norm, lift, 1e-12);
  }
}

// A narrow cloud makes a nearly degenerate corral at every width.
TEST(MinNormPoint, NarrowClouds) {
  const std::size_t n = 200, dim = 12;
  for (int digits = 0; digits <= 16; ++digits) {
    std::vector<double> points = shifted_normals(7, n, dim);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t a = 0; a < dim; ++a)
        points[i * dim + a] = (a == 0 ? 3 : 0) + std::pow(10.0, -digits) * points[i * dim + a];
    const MinNormPoint found = min_norm_point(points, dim);
    EXPECT_EQ(found.status, MinNormStatus::optimal) << digits;
    expect_consistent(found, points, dim);
  }
}

TEST(MinNormPoint, CopiesAndMidpointsChangeNothing) {
  const std::size_t n = 40, dim = 6;
  const std::vector<double> points = shifted_normals(3, n, dim, 4);
  std::vector<double> more = points;
  for (std::size_t i = 0; i + 1 < n; ++i) {
    more.insert(more.end(), &points[i * dim], &points[i * dim] + dim);
    for (std::size_t a = 0; a < dim; ++a)
      more.push_back((points[i * dim + a] + points[(i + 1) * dim + a]) / 2);
  }
  const MinNormPoint one = min_norm_point(points, dim), other = min_norm_point(more, dim);
  EXPECT_EQ(other.status, MinNormStatus::optimal);
  for (std::size_t a = 0; a < dim; ++a) EXPECT_NEAR(one.point[a], other.point[a], 1e-12);
  expect_consistent(other, more, dim);
}

TEST(MinNormPoint, IterationLimitStillCertifies) {
  const std::size_t dim = 20;
  const std::vector<double> points = shifted_normals(5, 300, dim, 3);
  const MinNormPoint best = min_norm_point(points, dim);
  for (const std::size_t limit : {1, 2, 5}) {
    const MinNormPoint found = min_norm_point(points, dim, {.max_iterations = limit});
    EXPECT_EQ(found.status, MinNormStatus::iteration_limit);
    EXPECT_EQ(found.iterations, limit);
    expect_consistent(found, points, dim);
    double error = 0;
    for (std::size_t a = 0; a < dim; ++a) error += std::pow(found.point[a] - best.point[a], 2);
    EXPECT_LE(error, found.gap);
    EXPECT_LE(found.smallest_product / found.norm, best.norm);
    EXPECT_GE(found.norm, best.norm);
  }
}

TEST(MinNormPoint, ThreadsDoNotShow) {
  const std::size_t dim = 9;
  const std::vector<double> points = shifted_normals(11, 3000, dim, 4);
  set_threads(1);
  const MinNormPoint one = min_norm_point(points, dim);
  for (const std::size_t count : {2, 4}) {
    set_threads(count);
    const MinNormPoint many = min_norm_point(points, dim);
    EXPECT_EQ(one.point, many.point);
    EXPECT_EQ(one.gap, many.gap);
  }
  set_threads(0);
}

}  // namespace
}  // namespace attractor::solve
