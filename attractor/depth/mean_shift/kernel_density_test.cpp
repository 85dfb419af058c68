// The density and its step against plain sums in long double, differences of log K, and attention.
#include "attractor/depth/mean_shift/kernel_density.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "attractor/base/random.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/depth/attention_flow.hpp"
#include "attractor/space/space.hpp"
#include "attractor/tokens/generators.hpp"
#include "tests/support/refusal.hpp"

namespace attractor::depth {
namespace {

/// Four clouds of deviation 1, their centres of deviation `spread`.
std::vector<double> clouds(std::size_t n, std::size_t dim, double spread) {
  const Stream stream(7, "kernel density test");
  std::vector<double> x(n * dim);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t a = 0; a < dim; ++a)
      x[i * dim + a] = spread * stream.normal(i % 4, a) + stream.normal(100 + i, a);
  return x;
}

struct Values {
  std::vector<double> shift, height;
};

Values evaluated(const std::vector<double>& points, std::size_t dim, double beta,
                 const std::vector<double>& queries) {
  Values values{std::vector<double>(queries.size()), std::vector<double>(queries.size() / dim)};
  KernelDensity(points, dim, beta).evaluate(queries, values.shift, values.height);
  return values;
}

long double log_density(const std::vector<double>& points, std::size_t dim, double beta,
                        std::span<const long double> x, std::vector<long double>& mean) {
  long double sum = 0;
  mean.assign(dim, 0);
  for (std::size_t j = 0; j < points.size() / dim; ++j) {
    long double squared = 0;
    for (std::size_t a = 0; a < dim; ++a)
      squared += (x[a] - points[j * dim + a]) * (x[a] - points[j * dim + a]);
    const long double w = std::exp(-beta * squared / 2);
    sum += w;
    for (std::size_t a = 0; a < dim; ++a) mean[a] += w * (points[j * dim + a] - x[a]);
  }
  for (long double& m : mean) m /= sum;
  return std::log(sum / static_cast<long double>(points.size() / dim));
}

std::vector<long double> query(const std::vector<double>& points, std::size_t dim, std::size_t i) {
  return {points.begin() + static_cast<std::ptrdiff_t>(i * dim),
          points.begin() + static_cast<std::ptrdiff_t>((i + 1) * dim)};
}

// Cells far away are skipped in the cases with a large spread; nothing may be missing.
TEST(KernelDensity, EqualsPlainSums) {
  struct Case {
    std::size_t n, dim;
    double spread, beta;
  };
  const Case cases[] = {{1, 3, 0, 1},     {2, 1, 1, 4},        {77, 2, 3, 0.5},
                        {1500, 1, 40, 9}, {3000, 2, 30, 4},    {2500, 3, 1, 0.01},
                        {900, 5, 2, 1},   {1200, 17, 20, 0.2}, {2500, 50, 30, 0.1}};
  for (const auto& [n, dim, spread, beta] : cases) {
    SCOPED_TRACE(testing::Message() << n << " points in dimension " << dim);
    const auto points = clouds(n, dim, spread);
    const Values found = evaluated(points, dim, beta, points);
    std::vector<long double> mean;
    for (std::size_t i = 0; i < n; i += 1 + n / 60) {
      const long double log_height = log_density(points, dim, beta, query(points, dim, i), mean);
      EXPECT_NEAR(std::log(found.height[i]), static_cast<double>(log_height), 1e-13);
      for (std::size_t a = 0; a < dim; ++a)
        EXPECT_NEAR(found.shift[i * dim + a], static_cast<double>(mean[a]),
                    1e-14 * (1 + spread) / std::sqrt(beta));
    }
  }
}

TEST(KernelDensity, TheStepIsTheGradientOfTheLogarithm) {
  const std::size_t dim = 3;
  const double beta = 1.7;
  const long double small = 1e-5L;
  const auto points = clouds(200, dim, 2);
  std::vector<double> queries = points;
  for (double& x : queries) x += 0.3;
  const Values found = evaluated(points, dim, beta, queries);
  std::vector<long double> ignored;
  for (std::size_t i = 0; i < 200; i += 7)
    for (std::size_t a = 0; a < dim; ++a) {
      auto above = query(queries, dim, i), below = above;
      above[a] += small;
      below[a] -= small;
      const long double slope = (log_density(points, dim, beta, above, ignored) -
                                 log_density(points, dim, beta, below, ignored)) /
                                (2 * small);
      EXPECT_NEAR(found.shift[i * dim + a], static_cast<double>(slope) / beta, 1e-9);
    }
}

// With the data at rest, softmax attention is the step of mean shift made tangent (theory A2).
TEST(KernelDensity, OnTheSphereTheStepIsSoftmaxAttention) {
  for (const double beta : {0.5, 9.0, 200.0}) {
    const std::size_t dim = 4, n = 90;
    const TokenSet tokens = make_tokens({.tokens = n, .dim = dim, .seed = 3});
    Values found = evaluated(tokens.data, dim, beta, tokens.data);
    const AttentionFlow flow({.rule = Rule::softmax, .beta = beta, .dim = dim}, n, 0);
    std::vector<double> velocity(n * dim);
    flow.drift(tokens.data, flow.log_unit(), velocity);
    for (std::size_t i = 0; i < n; ++i)
      Sphere(dim).project(std::span(tokens.data).subspan(i * dim, dim),
                          std::span(found.shift).subspan(i * dim, dim));
    for (std::size_t k = 0; k < velocity.size(); ++k)
      EXPECT_NEAR(found.shift[k], velocity[k], 1e-14);
  }
}

TEST(KernelDensity, DoesNotDependOnThreads) {
  const auto points = clouds(3000, 6, 5);
  std::vector<Values> found;
  for (const std::size_t count : {1, 2, 5}) {
    set_threads(count);
    found.push_back(evaluated(points, 6, 0.8, points));
  }
  set_threads(0);
  EXPECT_EQ(found[0].shift, found[1].shift);
  EXPECT_EQ(found[0].shift, found[2].shift);
  EXPECT_EQ(found[0].height, found[1].height);
  EXPECT_EQ(found[0].height, found[2].height);
}

TEST(KernelDensity, FarFromAllPointsThereIsNothing) {
  const Values found = evaluated({0, 0, 1, 1}, 2, 1, {1e3, 0, 1e150, -1e150});
  EXPECT_EQ(found.height, std::vector<double>(2, 0.0));
  EXPECT_EQ(found.shift, std::vector<double>(4, 0.0));
}

TEST(KernelDensity, RefusesWhatItCannotSum) {
  const auto refused = [](std::vector<double> points, double beta) {
    return refusal([&] { KernelDensity(points, 2, beta); });
  };
  EXPECT_SAYS(refused({0, 0, 1, NAN}, 1), "point 1 (counted from 0) has the entry nan");
  EXPECT_SAYS(refused({1e151, 0}, 1), "1e150");
  EXPECT_SAYS(refused({0, 0}, 0), "beta is 0");
  EXPECT_SAYS(refused({0, 0}, NAN), "beta is nan");
}

}  // namespace
}  // namespace attractor::depth
