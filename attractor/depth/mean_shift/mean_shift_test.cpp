// Mean shift against a plain implementation, its monotonicity, symmetric and hostile data.
#include "attractor/depth/mean_shift/mean_shift.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "attractor/base/random.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/space/space.hpp"

namespace attractor::depth {
namespace {

constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

using Points = std::vector<double>;

std::span<const double> row(const Points& points, std::size_t dim, std::size_t i) {
  return std::span(points).subspan(i * dim, dim);
}

/// `count` normal clouds of deviation 1 around centres of deviation `spread`; point i is in cloud
/// i % count.
Points clouds(std::size_t n, std::size_t dim, std::size_t count, double spread,
              std::uint64_t seed = 0) {
  const Stream stream(seed, "mean shift test");
  Points x(n * dim);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t a = 0; a < dim; ++a)
      x[i * dim + a] = spread * stream.normal(i % count, a) + stream.normal(1000 + i, a);
  return x;
}

Points on_sphere(Points points, std::size_t dim) {
  for (std::size_t i = 0; i < points.size() / dim; ++i)
    Sphere(dim).retract(std::span(points).subspan(i * dim, dim));
  return points;
}

// ---- The plain implementation: every point climbs alone, all sums in order.

Points plain_step(const Points& points, std::size_t dim, double beta, bool sphere,
                  const Points& x) {
  Points mean(dim, 0.0);
  double sum = 0;
  for (std::size_t j = 0; j < points.size() / dim; ++j) {
    const double w = std::exp(-0.5 * beta * squared_distance(x, row(points, dim, j)));
    sum += w;
    for (std::size_t a = 0; a < dim; ++a) mean[a] += w * points[j * dim + a];
  }
  for (double& m : mean) m /= sum;
  if (sphere) Sphere(dim).retract(mean);
  return mean;
}

double plain_height(const Points& points, std::size_t dim, double beta, std::span<const double> x) {
  double sum = 0;
  for (std::size_t j = 0; j < points.size() / dim; ++j)
    sum += std::exp(-0.5 * beta * squared_distance(x, row(points, dim, j)));
  return sum / static_cast<double>(points.size() / dim);
}

struct Plain {
  std::vector<Points> modes;
  std::vector<std::size_t> labels;
};

Plain plain_mean_shift(const Points& points, std::size_t dim, double beta, bool sphere) {
  Plain result;
  for (std::size_t i = 0; i < points.size() / dim; ++i) {
    Points x(row(points, dim, i).begin(), row(points, dim, i).end()), next;
    for (int k = 0; k < 100000; ++k) {
      next = plain_step(points, dim, beta, sphere, x);
      const double step = squared_distance(next, x);
      x = next;
      if (step < 1e-26 / beta) break;
    }
    const auto same = std::ranges::find_if(
        result.modes, [&](const Points& mode) { return squared_distance(mode, x) < 0.01 / beta; });
    result.labels.push_back(static_cast<std::size_t>(same - result.modes.begin()));
    if (same == result.modes.end()) result.modes.push_back(x);
  }
  return result;
}

TEST(MeanShift, EqualsThePlainImplementation) {
  struct Case {
    std::size_t n, dim, clouds;
    double spread, beta;
    bool sphere;
  };
  const Case cases[] = {{300, 2, 4, 3, 4, false},     {200, 1, 3, 4, 10, false},
                        {250, 5, 6, 1.5, 0.6, false}, {120, 2, 1, 0, 30, false},
                        {200, 3, 5, 3, 40, true},     {150, 2, 4, 2, 100, true},
                        {150, 20, 4, 2, 0.08, false}};
  for (const auto& [n, dim, count, spread, beta, sphere] : cases) {
    SCOPED_TRACE(testing::Message() << n << " points in dimension " << dim << ", beta " << beta);
    Points points = clouds(n, dim, count, spread);
    if (sphere) points = on_sphere(points, dim);
    const Plain plain = plain_mean_shift(points, dim, beta, sphere);
    const MeanShift found = mean_shift(
        points, dim, {.beta = beta, .on_sphere = sphere, .seeds = kAll, .tolerance = 1e-11});
    ASSERT_TRUE(found.converged());
    ASSERT_EQ(found.heights.size(), plain.modes.size());
    EXPECT_GT(plain.modes.size(), 1u);
    std::map<std::size_t, std::size_t> ours;  // from the labels of one to those of the other
    for (std::size_t i = 0; i < n; ++i)
      EXPECT_EQ(ours.emplace(plain.labels[i], found.labels[i]).first->second, found.labels[i]);
    for (const auto& [theirs, mode] : ours) {
      EXPECT_NEAR(std::sqrt(squared_distance(row(found.modes, dim, mode), plain.modes[theirs])), 0,
                  1e-9 / std::sqrt(beta));
      EXPECT_NEAR(found.heights[mode] / plain_height(points, dim, beta, plain.modes[theirs]), 1,
                  1e-12);
      EXPECT_EQ(found.sizes[mode],
                static_cast<std::size_t>(std::ranges::count(plain.labels, theirs)));
    }
  }
}

TEST(MeanShift, TheDensityNeverDecreasesAlongAPath) {
  for (const bool sphere : {false, true})
    for (const std::uint64_t seed : {1, 2, 3}) {
      Points points = clouds(150, 3, 3, 1);
      if (sphere) points = on_sphere(points, 3);
      double last = 0;
      for (std::size_t k = 0; k <= 40; ++k) {
        const MeanShift after = mean_shift(points, 3,
                                           {.beta = 6,
                                            .on_sphere = sphere,
                                            .seeds = 1,
                                            .seed = seed,
                                            .tolerance = 1e-14,
                                            .iterations = k});
        EXPECT_GE(after.heights[0], last * (k == 1 ? 1.001 : 1 - 1e-14));
        last = after.heights[0];
      }
    }
}

TEST(MeanShift, ModesAreCriticalPointsAndMaxima) {
  const Points points = clouds(400, 2, 5, 4);
  const double beta = 3, small = 1e-3;
  const MeanShift found = mean_shift(points, 2, {.beta = beta, .seeds = kAll, .tolerance = 1e-12});
  EXPECT_GE(found.heights.size(), 4u);
  for (std::size_t m = 0; m < found.heights.size(); ++m) {
    const Points mode(row(found.modes, 2, m).begin(), row(found.modes, 2, m).end());
    const Points next = plain_step(points, 2, beta, false, mode);
    EXPECT_LT(std::sqrt(squared_distance(next, mode)), 1e-12);
    for (int k = 0; k < 12; ++k) {
      const double angle = k * 0.5236;
      const Points beside = {mode[0] + small * std::cos(angle), mode[1] + small * std::sin(angle)};
      EXPECT_LT(plain_height(points, 2, beta, beside), found.heights[m]);
    }
  }
}

TEST(MeanShift, ThreeSeparatedCloudsAreFound) {
  const double centres[3][2] = {{12, 0}, {0, 12}, {-12, -12}};
  for (const std::size_t dim : {2, 3, 10}) {
    SCOPED_TRACE(dim);
    const std::size_t n = 900;
    Points points = clouds(n, dim, 1, 0);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t a = 0; a < 2; ++a) points[i * dim + a] += centres[i % 3][a];
    const double bandwidth = reference_bandwidth(points, dim, false, 0);
    const MeanShift found = mean_shift(points, dim, {.beta = 1 / (bandwidth * bandwidth)});
    ASSERT_EQ(found.sizes, std::vector<std::size_t>(3, 300));
    for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(found.labels[i], found.labels[i % 3]);
    for (std::size_t c = 0; c < 3; ++c) {
      Points centre(dim, 0.0);
      std::copy_n(centres[c], 2, centre.begin());
      // The mean of 300 points of deviation 1 is 0.06 off in each direction.
      EXPECT_LT(squared_distance(row(found.modes, dim, found.labels[c]), centre),
                std::pow(4 * 0.06, 2) * static_cast<double>(dim));
    }
  }
}

TEST(MeanShift, APointOnASaddleClimbsOn) {
  // Two mirrored clouds and one point in the middle, which by symmetry does not move.
  Points points = clouds(60, 2, 1, 0);
  for (std::size_t i = 0; i < points.size(); i += 2) points[i] += 4;
  const Points half = points;
  for (const double x : half) points.push_back(-x);
  points.insert(points.end(), {0, 0});
  const MeanShift found = mean_shift(points, 2, {.beta = 0.5, .seeds = kAll});
  EXPECT_EQ(found.heights.size(), 2u);
  EXPECT_EQ(found.sizes[0] + found.sizes[1], 121u);
  EXPECT_EQ(found.sizes[1], 60u);
}

TEST(MeanShift, PermutedPointsGivePermutedLabels) {
  const std::size_t n = 500, dim = 3;
  const Points points = clouds(n, dim, 5, 2);
  Points permuted;
  std::vector<std::size_t> from;
  for (std::size_t i = 0; i < n; ++i) {
    from.push_back(i * 171 % n);
    const auto point = row(points, dim, from.back());
    permuted.insert(permuted.end(), point.begin(), point.end());
  }
  const MeanShiftOptions options{.beta = 1.5, .seeds = kAll, .tolerance = 1e-9};
  const MeanShift a = mean_shift(points, dim, options), b = mean_shift(permuted, dim, options);
  ASSERT_GE(a.heights.size(), 3u);
  ASSERT_EQ(a.sizes, b.sizes);
  for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(b.labels[i], a.labels[from[i]]);
  for (std::size_t k = 0; k < a.modes.size(); ++k) EXPECT_NEAR(a.modes[k], b.modes[k], 1e-7);
}

TEST(MeanShift, OtherPointsGetTheNearestMode) {
  const std::size_t n = 1000, dim = 9;
  Points points = clouds(n, dim, 4, 5);
  for (double& x : points) x += 1e4;
  const MeanShift found = mean_shift(points, dim, {.beta = 0.3, .seeds = 100, .seed = 5});
  ASSERT_EQ(found.seeds.size(), 100u);
  EXPECT_TRUE(std::ranges::is_sorted(found.seeds));
  EXPECT_EQ(std::ranges::adjacent_find(found.seeds), found.seeds.end());
  for (std::size_t i = 0; i < n; ++i) {
    if (std::ranges::binary_search(found.seeds, i)) continue;
    for (std::size_t m = 0; m < found.heights.size(); ++m)
      EXPECT_LE(squared_distance(row(points, dim, i), row(found.modes, dim, found.labels[i])),
                squared_distance(row(points, dim, i), row(found.modes, dim, m)) + 1e-9);
  }
}

TEST(MeanShift, DoesNotDependOnThreads) {
  const Points points = clouds(2000, 4, 6, 3);
  std::vector<MeanShift> found;
  for (const std::size_t count : {1, 3}) {
    set_threads(count);
    found.push_back(mean_shift(points, 4, {.beta = 1, .seeds = 700}));
  }
  set_threads(0);
  EXPECT_EQ(found[0].modes, found[1].modes);
  EXPECT_EQ(found[0].labels, found[1].labels);
  EXPECT_EQ(found[0].iterations, found[1].iterations);
}

// Equal points, tiny and huge bandwidths, coordinates with a large common offset, extreme units.
TEST(MeanShift, HostileDataGiveWhatTheyShould) {
  const Points points = clouds(100, 2, 1, 0);
  EXPECT_EQ(mean_shift(Points(80, 3.0), 2, {.beta = 1}).sizes, std::vector<std::size_t>{40});
  EXPECT_EQ(mean_shift(Points{1, 2}, 2, {.beta = 1}).sizes, std::vector<std::size_t>{1});
  EXPECT_EQ(mean_shift(points, 2, {.beta = 1e200}).heights.size(), 100u);
  EXPECT_EQ(mean_shift(points, 2, {.beta = 1e-200}).heights.size(), 1u);
  const MeanShift usual = mean_shift(points, 2, {.beta = 9});
  for (const double unit : {1e-60, 1e60}) {
    Points scaled = points;
    for (double& x : scaled) x *= unit;
    EXPECT_EQ(mean_shift(scaled, 2, {.beta = 9 / unit / unit}).labels, usual.labels);
  }
  Points moved = points;
  for (double& x : moved) x += 1e8;
  const MeanShift offset = mean_shift(moved, 2, {.beta = 9, .tolerance = 1e-12});
  EXPECT_TRUE(offset.converged());
  EXPECT_EQ(offset.sizes, usual.sizes);
}

TEST(MeanShift, SaysWhenItDidNotArrive) {
  const Points points = clouds(100, 2, 1, 0);
  const MeanShift few = mean_shift(points, 2, {.beta = 4, .iterations = 2});
  EXPECT_FALSE(few.converged());
  EXPECT_GT(few.climbing, 0u);
  EXPECT_EQ(few.iterations, 2u);
  const MeanShift stopped =
      mean_shift(points, 2, {.beta = 4, .watch = [](std::size_t k, std::size_t) { return k < 3; }});
  EXPECT_TRUE(stopped.stopped);
  EXPECT_FALSE(stopped.converged());
  EXPECT_EQ(stopped.iterations, 3u);
}

TEST(MeanShift, ReferenceBandwidth) {
  // Few dimensions: the normal reference; the points are their own sample.
  const Points points = clouds(400, 2, 1, 0);
  double mean[2] = {}, squares = 0;
  for (std::size_t k = 0; k < 800; ++k) mean[k % 2] += points[k] / 400;
  for (std::size_t k = 0; k < 800; ++k) squares += std::pow(points[k] - mean[k % 2], 2);
  const double deviation = std::sqrt(squares / (2 * 399));
  EXPECT_NEAR(reference_bandwidth(points, 2, false, 0),
              deviation * std::pow(4.0 / (6 * 400), 1.0 / 8), 1e-12);
  // Many: wide enough that one cloud is one cluster and not a thousand.
  const Points high = clouds(1000, 40, 1, 0);
  const double bandwidth = reference_bandwidth(high, 40, false, 0);
  const MeanShift found = mean_shift(high, 40, {.beta = 1 / (bandwidth * bandwidth)});
  EXPECT_GT(found.sizes[0], 900u);
  EXPECT_EQ(reference_bandwidth(Points(40, 1.5), 2, false, 0), 0);
  EXPECT_EQ(reference_bandwidth(Points(2, 1.5), 2, false, 0), 0);
}

}  // namespace
}  // namespace attractor::depth
