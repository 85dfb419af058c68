#include "attractor/space/space.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "attractor/base/random.hpp"

namespace attractor {
namespace {

using std::numbers::pi;

std::vector<double> gaussian(std::uint64_t item, std::size_t dim) {
  std::vector<double> v(dim);
  Stream(1, "space test").normals(item, v);
  return v;
}

std::vector<double> unit(std::uint64_t item, std::size_t dim) {
  std::vector<double> v = gaussian(item, dim);
  Sphere(dim).retract(v);
  return v;
}

long double exact_dot(const std::vector<double>& a, const std::vector<double>& b) {
  long double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += static_cast<long double>(a[k]) * b[k];
  return sum;
}

constexpr std::size_t kDims[] = {2, 3, 5, 64, 1001};

TEST(VectorAlgebra, MatchesKnownValues) {
  const std::vector<double> a{1, -2, 2}, b{4, 2, -4}, none;
  EXPECT_EQ(dot(a, b), -8);
  EXPECT_EQ(norm(a), 3);
  EXPECT_EQ(norm(b), 6);
  EXPECT_EQ(squared_distance(a, b), 61);
  EXPECT_EQ(dot(none, none), 0);
  EXPECT_EQ(norm(none), 0);
}

TEST(VectorAlgebra, PolarisationHoldsInEveryDimension) {
  for (const std::size_t dim : kDims) {
    const auto a = gaussian(0, dim), b = gaussian(1, dim);
    EXPECT_NEAR(squared_distance(a, b), norm(a) * norm(a) + norm(b) * norm(b) - 2 * dot(a, b),
                1e-13 * static_cast<double>(dim) * 4);
    EXPECT_NEAR(dot(a, b), static_cast<double>(exact_dot(a, b)), 1e-14 * static_cast<double>(dim));
  }
}

TEST(SphereSpace, RetractionKeepsTheDirectionAndMakesTheLengthOne) {
  for (const std::size_t dim : kDims)
    for (const double scale : {1e-290, 1e-160, 1e-100, 1.0, 7.0, 1e100, 1e160, 1e290}) {
      std::vector<double> x = gaussian(dim, dim);
      for (double& c : x) c *= scale;
      const std::vector<double> before = x;
      Sphere(dim).retract(x);
      const long double length = std::sqrt(exact_dot(before, before));
      EXPECT_NEAR(static_cast<double>(exact_dot(x, x)), 1, 1e-15 * std::sqrt(dim) * 2);
      for (std::size_t k = 0; k < dim; ++k)
        EXPECT_NEAR(x[k], static_cast<double>(before[k] / length), 1e-14);
    }
}

TEST(SphereSpace, RetractionOfTheOriginIsNotANumber) {
  std::vector<double> zero{0, 0, 0}, infinite{1, HUGE_VAL, 0};
  Sphere(3).retract(zero);
  Sphere(3).retract(infinite);
  for (const double x : zero) EXPECT_TRUE(std::isnan(x));
  EXPECT_TRUE(std::isnan(infinite[1]));
}

TEST(SphereSpace, ProjectionIsTangentIdempotentAndKeepsTangents) {
  for (const std::size_t dim : kDims) {
    const Sphere sphere(dim);
    const auto x = unit(2, dim);
    std::vector<double> v = gaussian(3, dim);
    const std::vector<double> before = v;
    sphere.project(x, v);
    EXPECT_NEAR(static_cast<double>(exact_dot(x, v)), 0, 1e-15 * std::sqrt(dim));
    const long double radial = exact_dot(x, before);
    for (std::size_t k = 0; k < dim; ++k)
      EXPECT_NEAR(v[k], static_cast<double>(before[k] - radial * x[k]), 2e-14);
    std::vector<double> again = v;
    sphere.project(x, again);
    for (std::size_t k = 0; k < dim; ++k) EXPECT_NEAR(again[k], v[k], 1e-15);
  }
}

TEST(SphereSpace, ProjectionOfAnAlmostRadialVectorLeavesNoRadialPart) {
  // v = x + 1e-10 t: one pass leaves a radial part of 1e-16, that is 1e-6 of the tangent part.
  for (const std::size_t dim : kDims) {
    const Sphere sphere(dim);
    const auto x = unit(4, dim);
    std::vector<double> tangent = gaussian(5, dim), v(dim);
    sphere.project(x, tangent);
    for (std::size_t k = 0; k < dim; ++k) v[k] = x[k] + 1e-10 * tangent[k];
    sphere.project(x, v);
    EXPECT_LT(std::abs(static_cast<double>(exact_dot(x, v))), 1e-14 * norm(v)) << dim;
    EXPECT_NEAR(norm(v), 1e-10 * norm(tangent), 1e-15 * std::sqrt(dim)) << dim;
  }
}

TEST(SphereSpace, ProjectionRemovesARadialVector) {
  const std::vector<double> x{0.6, 0.8};
  std::vector<double> v{-1.8, -2.4};
  Sphere(2).project(x, v);
  EXPECT_NEAR(norm(v), 0, 1e-15);
}

TEST(SphereSpace, DistanceIsTheAngle) {
  const Sphere sphere(3);
  const double c = std::cos(0.3), s = std::sin(0.3);  // seen from a turned frame
  for (const double angle : {0.0, 1e-3, 0.1, 0.5, 1.0, pi / 2, 2.0, 3.0}) {
    const std::vector<double> a{c, 0, s};
    const std::vector<double> b{std::cos(angle) * c, std::sin(angle), std::cos(angle) * s};
    EXPECT_NEAR(sphere.distance(a, b), angle, 1e-14);
    EXPECT_EQ(sphere.distance(a, b), sphere.distance(b, a));
  }
}

TEST(SphereSpace, DistanceOfNearPointsHasFullRelativeAccuracy) {
  for (const double angle : {1e-5, 1e-8, 1e-12, 1e-100}) {
    const std::vector<double> a{1, 0}, b{std::cos(angle), std::sin(angle)};
    EXPECT_NEAR(Sphere(2).distance(a, b) / angle, 1, 1e-15);
  }
}

TEST(SphereSpace, DistanceOfAntipodesIsPiEvenWhenTheChordRoundsAboveTwo) {
  for (const std::size_t dim : kDims)
    for (std::uint64_t item = 0; item < 20; ++item) {
      std::vector<double> a = unit(item, dim);
      for (double& x : a) x *= 1 + 4e-16;
      std::vector<double> b = a;
      for (double& x : b) x = -x;
      EXPECT_NEAR(Sphere(dim).distance(a, b), pi, 1e-7);  // NaN would fail here
    }
}

TEST(SphereSpace, DistanceObeysTheTriangleInequality) {
  const Sphere sphere(5);
  for (std::uint64_t k = 0; k < 200; ++k) {
    const auto a = unit(3 * k, 5), b = unit(3 * k + 1, 5), c = unit(3 * k + 2, 5);
    EXPECT_LE(sphere.distance(a, c), sphere.distance(a, b) + sphere.distance(b, c) + 1e-14);
  }
}

TEST(SphereSpace, TellsItsNameDimensionAndScale) {
  const Sphere sphere(4);
  EXPECT_STREQ(sphere.name(), "sphere");
  EXPECT_EQ(sphere.dim(), 4U);
  EXPECT_EQ(sphere.scale(std::vector<double>{3, 0, 0, 4}), 1);
}

TEST(EuclideanSpace, LeavesPointsAndVectorsAsTheyAre) {
  const Euclidean space(3);
  std::vector<double> x{3, -4, 12}, v{1, 2, 3};
  space.retract(x);
  space.project(x, v);
  EXPECT_EQ(x, (std::vector<double>{3, -4, 12}));
  EXPECT_EQ(v, (std::vector<double>{1, 2, 3}));
}

TEST(EuclideanSpace, MeasuresStraightLinesAndScalesWithTheLength) {
  const Euclidean space(2);
  const std::vector<double> a{1, 1}, b{4, 5}, small{0.3, 0.4}, large{-6, 8};
  EXPECT_EQ(space.distance(a, b), 5);
  EXPECT_EQ(space.distance(a, a), 0);
  EXPECT_EQ(space.scale(small), 1);
  EXPECT_EQ(space.scale(large), 10);
  EXPECT_STREQ(space.name(), "euclidean");
  EXPECT_EQ(space.dim(), 2U);
}

}  // namespace
}  // namespace attractor
