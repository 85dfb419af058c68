#include "attractor/tokens/close_counts.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "attractor/base/random.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/space/space.hpp"

namespace attractor {
namespace {

constexpr double kNoLimit = 1e300;

struct Cloud {
  std::vector<double> points, masses;
};

// Clumps of different sizes around random centres, points alone, copies; masses 1, 2, 3.
Cloud cloud(std::size_t n, std::size_t dim, double width) {
  const Stream stream(n + 100 * dim, "close counts test");
  Cloud c{std::vector<double>(n * dim), std::vector<double>(n)};
  std::vector<double> centre(dim), step(dim);
  for (std::size_t i = 0; i < n; ++i) {
    stream.normals(i % 7, centre);
    stream.normals(1000 + i, step);
    const double size = i % 11 == 10 ? 0 : i % 5 == 4 ? 1 : width * static_cast<double>(i % 3);
    for (std::size_t a = 0; a < dim; ++a) c.points[i * dim + a] = centre[a] + size * step[a];
    c.masses[i] = static_cast<double>(1 + i % 3);
  }
  return c;
}

std::vector<double> brute_force(const Cloud& c, std::size_t dim, double gap) {
  const std::size_t n = c.masses.size();
  const auto row = [&](std::size_t i) { return std::span(c.points).subspan(i * dim, dim); };
  std::vector<double> found(n, 0.0);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      if (i != j && squared_distance(row(i), row(j)) / 2 <= gap) found[i] += c.masses[j];
  return found;
}

TEST(CloseCounts, AreThoseOfAllPairs) {
  for (const std::size_t dim : {1, 2, 3, 8, 17, 64})
    for (const std::size_t n : {1, 2, 16, 17, 700})
      for (const double width : {1e-9, 1e-3, 0.1})
        for (const double gap : {0.0, 1e-19, 1e-6, 1e-3, 0.05, 3.0, 1e3}) {
          const Cloud c = cloud(n, dim, width);
          EXPECT_EQ(close_counts(c.points, dim, c.masses, gap, kNoLimit), brute_force(c, dim, gap))
              << dim << " " << n << " " << width << " " << gap;
        }
}

// Numbers with few digits: sums of squares are exact, and some pairs lie at the very gap.
TEST(CloseCounts, APairAtTheGapCounts) {
  Cloud c;
  for (int x = 0; x < 20; ++x)
    for (int y = 0; y < 20; ++y) {
      c.points.insert(c.points.end(), {x * 0.25, y * 0.25});
      c.masses.push_back(1);
    }
  for (const double gap : {0.03125, 0.78125, 3.125})
    EXPECT_EQ(close_counts(c.points, 2, c.masses, gap, kNoLimit), brute_force(c, 2, gap)) << gap;
}

TEST(CloseCounts, NoneWhereTooManyPairsWouldBeRead) {
  const Stream stream(1, "close counts test");
  std::vector<double> points(2000 * 16);
  for (std::size_t i = 0; i < 2000; ++i) {
    const auto x = std::span(points).subspan(i * 16, 16);
    stream.normals(i, x);
    Sphere(16).retract(x);
  }
  const std::vector<double> ones(2000, 1.0);
  EXPECT_FALSE(close_counts(points, 16, ones, 0.6, 1e5));
  EXPECT_TRUE(close_counts(points, 16, ones, 0.6, 1e8));
  EXPECT_TRUE(close_counts(points, 16, ones, 5, 1e5)) << "all pairs are close, which balls tell";
}

TEST(CloseCounts, DoNotDependOnTheThreads) {
  const Cloud c = cloud(3000, 5, 0.01);
  set_threads(1);
  const auto one = close_counts(c.points, 5, c.masses, 1e-3, kNoLimit);
  set_threads(3);
  EXPECT_EQ(close_counts(c.points, 5, c.masses, 1e-3, kNoLimit), one);
  set_threads(0);
}

}  // namespace
}  // namespace attractor
