#include "attractor/observe/pairs.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <numeric>
#include <vector>

#include "attractor/base/random.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/space/space.hpp"

namespace attractor::observe {
namespace {

struct Cloud {
  std::vector<double> tokens, masses;
  std::size_t dim;
};

// Uniform on the sphere, pulled towards the first axis by `pull`; masses 1..largest.
Cloud cloud(std::uint64_t seed, std::size_t n, std::size_t dim, double pull, int largest) {
  const Stream stream(seed, "test.pairs"), mass(seed, "test.masses");
  Cloud made{std::vector<double>(n * dim), {}, dim};
  for (std::size_t i = 0; i < n; ++i) {
    const auto row = std::span(made.tokens).subspan(i * dim, dim);
    stream.normals(i, row);
    row[0] += pull;
    Sphere(dim).retract(row);
    made.masses.push_back(double(1 + mass.below(std::uint64_t(largest), i, 0)));
  }
  return made;
}

Cloud expand(const Cloud& merged) {
  Cloud all{{}, {}, merged.dim};
  for (std::size_t i = 0; i < merged.masses.size(); ++i)
    for (int copy = 0; copy < int(merged.masses[i]); ++copy) {
      const auto row = std::span(merged.tokens).subspan(i * merged.dim, merged.dim);
      all.tokens.insert(all.tokens.end(), row.begin(), row.end());
      all.masses.push_back(1);
    }
  return all;
}

MeanCosine mean_of(const Cloud& c) { return mean_cosine(c.tokens, c.dim, c.masses); }
PairStatistics statistics_of(const Cloud& c, double threshold, std::uint64_t seed = 0,
                             std::size_t limit = 4096) {
  return pair_statistics(c.tokens, c.dim, c.masses, threshold, seed, limit);
}

struct Truth {
  double mean = 0, fraction = 0, smallest = 1;
  std::vector<double> histogram = std::vector<double>(kCosineBins, 0.0);
};

// Every ordered pair of the expanded tokens, by plain dot products of normalised rows.
Truth brute_force(const Cloud& merged, double threshold) {
  const Cloud all = expand(merged);
  const std::size_t n = all.masses.size();
  Truth truth;
  const auto row = [&](std::size_t i) {
    return std::span(all.tokens).subspan(i * all.dim, all.dim);
  };
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      if (i == j) continue;
      const double lengths = norm(row(i)) * norm(row(j));
      const double cosine = lengths > 0 ? dot(row(i), row(j)) / lengths : 0;
      truth.mean += cosine;
      truth.fraction += cosine >= threshold;
      truth.smallest = std::min(truth.smallest, cosine);
      const auto bin = static_cast<std::size_t>((cosine + 1) * 50 + 1e-9);
      truth.histogram[std::min(bin, kCosineBins - 1)] += 1;
    }
  const double pairs = double(n) * double(n - 1);
  truth.mean /= pairs, truth.fraction /= pairs;
  for (double& bin : truth.histogram) bin /= pairs;
  return truth;
}

void expect_matches(const Cloud& c, double threshold) {
  const Truth truth = brute_force(c, threshold);
  const MeanCosine mean = mean_of(c);
  EXPECT_NEAR(mean.mean_cosine, truth.mean, 1e-13);
  EXPECT_NEAR(mean.one_minus_mean_cosine, 1 - truth.mean, 1e-13);
  const PairStatistics found = statistics_of(c, threshold);
  EXPECT_FALSE(found.sampled);
  EXPECT_FALSE(found.smallest_is_bound);
  EXPECT_EQ(found.fraction_error, 0);
  EXPECT_NEAR(found.fraction, truth.fraction, 1e-12);
  EXPECT_NEAR(found.smallest_cosine, truth.smallest, 1e-14);
  EXPECT_NEAR(std::cos(found.largest_angle), truth.smallest, 1e-14);
  for (std::size_t b = 0; b < kCosineBins; ++b)
    EXPECT_NEAR(found.histogram[b], truth.histogram[b], 1e-12) << b;
  EXPECT_NEAR(std::accumulate(found.histogram.begin(), found.histogram.end(), 0.0), 1, 1e-12);
}

TEST(Pairs, BruteForce) {
  for (const std::size_t n : {1, 2, 3, 7, 8, 9, 33, 70})
    for (const std::size_t dim : {1, 2, 3, 17})
      for (const double pull : {0.0, 1.5}) {
        SCOPED_TRACE(testing::Message() << n << " x " << dim << ", pull " << pull);
        Cloud c = cloud(n + 100 * dim, n, dim, pull, 4);
        c.masses[0] = 3;  // two originals at least
        expect_matches(c, 0.4);
      }
}

TEST(Pairs, EuclideanTokensByDirection) {
  Cloud c = cloud(1, 40, 5, 0.5, 3);
  const MeanCosine on_sphere = mean_of(c);
  for (std::size_t i = 0; i < 40; ++i)
    for (std::size_t a = 0; a < 5; ++a)
      c.tokens[i * 5 + a] *= std::pow(10.0, 6.0 * double(i % 5) - 12);
  expect_matches(c, 0.3);
  EXPECT_NEAR(mean_of(c).one_minus_mean_cosine, on_sphere.one_minus_mean_cosine, 1e-14);
  for (double& x : c.tokens) x *= 1e-180;  // squares underflow
  EXPECT_NEAR(mean_of(c).one_minus_mean_cosine, on_sphere.one_minus_mean_cosine, 1e-14);
}

TEST(Pairs, ZeroTokensHaveCosineZero) {
  Cloud c = cloud(2, 20, 3, 2, 3);
  for (const std::size_t zero : {0, 7, 8})
    for (std::size_t a = 0; a < 3; ++a) c.tokens[zero * 3 + a] = 0;
  c.masses[7] = 4;
  expect_matches(c, 0.2);
  const Cloud only{{0, 0}, {3}, 2};
  expect_matches(only, 0.2);
  EXPECT_DOUBLE_EQ(statistics_of(only, 0.2).largest_angle, std::numbers::pi / 2);
}

TEST(Pairs, OneOriginalHasNoPair) {
  const Cloud c{{0.6, 0.8}, {1}, 2};
  EXPECT_EQ(mean_of(c).mean_cosine, 1);
  EXPECT_EQ(statistics_of(c, 0.5).fraction, 1);
  EXPECT_EQ(statistics_of(c, 0.5).smallest_cosine, 1);
  EXPECT_EQ(statistics_of(c, 0.5, 0, 0).histogram[99], 0);
}

TEST(Pairs, ClosedForms) {
  const Cloud antipodal{{0.6, 0.8, -0.6, -0.8}, {2, 2}, 2};  // 4 pairs at 1, 8 at -1
  EXPECT_NEAR(mean_of(antipodal).mean_cosine, -1.0 / 3, 1e-15);
  EXPECT_NEAR(mean_of(antipodal).order_parameter, 0, 1e-16);
  const PairStatistics found = statistics_of(antipodal, 0.999);
  EXPECT_DOUBLE_EQ(found.fraction, 1.0 / 3);
  EXPECT_DOUBLE_EQ(found.histogram[0], 2.0 / 3);
  EXPECT_DOUBLE_EQ(found.histogram[99], 1.0 / 3);
  EXPECT_DOUBLE_EQ(found.largest_angle, std::numbers::pi);
  const Cloud orthonormal{{1, 0, 0, 0, 1, 0, 0, 0, 1}, {1, 1, 1}, 3};
  EXPECT_NEAR(mean_of(orthonormal).mean_cosine, 0, 1e-16);
  EXPECT_NEAR(mean_of(orthonormal).order_parameter, 1 / std::sqrt(3), 1e-15);
  EXPECT_EQ(statistics_of(orthonormal, 0).fraction, 1);
  EXPECT_EQ(statistics_of(orthonormal, 0).histogram[50], 1);
}

// Tokens (1, t): the length is 1 in double precision, and with s = sum of masses the truth is
// 1 - cos(i, j) = (t_i - t_j)^2 / 2 to a relative 1e-20.
TEST(Pairs, KeepsItsDigitsNearConsensus) {
  const std::vector<double> masses = {1, 2, 1, 5}, steps = {0, 1, 3, -2};
  for (const double t : {1e-9, 1e-10, 1e-60}) {
    Cloud c{{}, masses, 2};
    double sum = 0, farthest = 0, close = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      c.tokens.insert(c.tokens.end(), {1, steps[i] * t});
      for (std::size_t j = 0; j < 4; ++j) {
        sum += masses[i] * masses[j] * std::pow((steps[i] - steps[j]) * t, 2) / 2;
        farthest = std::max(farthest, std::abs(steps[i] - steps[j]) * t);
        close += i == j ? masses[i] * (masses[i] - 1) : 0;
      }
    }
    EXPECT_NEAR(mean_of(c).one_minus_mean_cosine / (sum / 72), 1, 1e-14);
    const PairStatistics found = statistics_of(c, 1);
    EXPECT_NEAR(found.largest_angle / farthest, 1, 1e-14);
    EXPECT_DOUBLE_EQ(found.fraction, close / 72);
    EXPECT_EQ(found.smallest_cosine, 1);
    EXPECT_NEAR(statistics_of(c, 1, 3, 0).largest_angle / farthest, 1, 1e-14);
  }
  // In general position coordinates carry eps, chords of 1e-8 a relative 1e-8.
  const double angle = 1e-8;
  const Cloud c{{std::cos(1), std::sin(1), std::cos(1 + angle), std::sin(1 + angle)}, {1, 1}, 2};
  EXPECT_NEAR(statistics_of(c, 0.5).largest_angle / angle, 1, 1e-7);
  EXPECT_NEAR(mean_of(c).one_minus_mean_cosine / (angle * angle / 2), 1, 1e-7);
}

TEST(Pairs, ThresholdNearOneIsSharp) {
  const double threshold = 1 - 1e-12, limit = std::sqrt(2 * (1 - threshold));
  for (const double side : {-1e-3, 1e-3}) {
    const Cloud c{{1, 0, 1, limit * (1 + side)}, {1, 1}, 2};
    EXPECT_EQ(statistics_of(c, threshold).fraction, side < 0 ? 1 : 0);
  }
}

// Close pairs of few enough tokens are counted, whatever the limit of exactness.
TEST(Pairs, ClosePairsAreCountedWhereTheSearchFindsAll) {
  const Cloud c = cloud(9, 2500, 3, 0.7, 20);
  for (const double threshold : {0.6, 0.99}) {
    const PairStatistics exact = statistics_of(c, threshold);
    const PairStatistics found = statistics_of(c, threshold, 1, 100);
    EXPECT_TRUE(found.sampled);
    EXPECT_EQ(found.fraction_error, 0);
    EXPECT_NEAR(found.fraction, exact.fraction, 1e-14);
  }
}

// The estimate, averaged over seeds, is within 4 of its own standard errors of the exact fraction,
// and the reported error has the size of the scatter (a variance over 300 seeds is known to 8 %).
TEST(Pairs, SamplingIsUnbiased) {
  const Cloud c = cloud(9, 2500, 3, 0.7, 20);
  const double threshold = -0.2, seeds = 300;
  const PairStatistics exact = statistics_of(c, threshold);
  double sum = 0, square = 0, error_square = 0;
  std::vector<double> bins(kCosineBins, 0.0), bins_square(kCosineBins, 0.0);
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const PairStatistics found = statistics_of(c, threshold, seed, 100);
    EXPECT_TRUE(found.sampled && found.smallest_is_bound);
    EXPECT_GE(found.smallest_cosine, exact.smallest_cosine);
    sum += found.fraction - exact.fraction;
    square += std::pow(found.fraction - exact.fraction, 2);
    error_square += std::pow(found.fraction_error, 2);
    for (std::size_t b = 0; b < kCosineBins; ++b) {
      bins[b] += found.histogram[b] - exact.histogram[b];
      bins_square[b] += std::pow(found.histogram[b] - exact.histogram[b], 2);
    }
  }
  EXPECT_LE(std::abs(sum / seeds), 4 * std::sqrt(square) / seeds);
  EXPECT_NEAR(error_square / square, 1, 4 * 0.08);
  for (std::size_t b = 0; b < kCosineBins; ++b)  // 100 comparisons: 5 deviations
    EXPECT_LE(std::abs(bins[b]), 5 * std::sqrt(bins_square[b]) + 1e-12) << b;
}

// Two places with N1 and N2 originals: of the pairs N1 (N1 - 1) + N2 (N2 - 1) are close.
TEST(Pairs, CrowdsAreCounted) {
  constexpr std::size_t kTokens = 20000;
  Cloud c{{}, {}, 3};
  double originals[2] = {0, 0};
  for (std::size_t i = 0; i < kTokens; ++i) {
    const bool second = i % 10 < 3;
    c.tokens.insert(c.tokens.end(), {second ? 0.0 : 1.0, second ? 1.0 : 0.0, 0.0});
    c.masses.push_back(i == 0 ? 5000 : 1 + static_cast<double>(i % 3));
    originals[second] += c.masses.back();
  }
  const double n = originals[0] + originals[1];
  double close = 0;
  for (const double k : originals) close += k * (k - 1) / (n * (n - 1));
  const PairStatistics found = statistics_of(c, 0.5, 0);
  EXPECT_TRUE(found.sampled) << "the histogram";
  EXPECT_DOUBLE_EQ(found.fraction, close);
  EXPECT_EQ(found.fraction_error, 0);
  EXPECT_NEAR(found.histogram[50] + found.histogram[99], 1, 1e-12);
}

// In d = 16 half of all tokens are about as far away as the threshold, and no tree counts them (a
// variance over 40 seeds is known to 22 %).
TEST(Pairs, SamplingOfCrowdsIsUnbiased) {
  constexpr std::size_t kTokens = 20000, kDim = 16, kSeeds = 40;
  const Stream stream(3, "crowds test");
  Cloud c{std::vector<double>(kTokens * kDim), {}, kDim};
  for (std::size_t i = 0; i < kTokens; ++i) {
    const auto x = std::span(c.tokens).subspan(i * kDim, kDim);
    stream.normals(i, x);
    x[0] += static_cast<double>(i % 3);  // rows differ
    Sphere(kDim).retract(x);
    c.masses.push_back(i == 0 ? 5000 : 1 + static_cast<double>(i % 3));
  }
  const double close = statistics_of(c, 0.05, 0, kTokens).fraction;
  double sum = 0, square = 0, error_square = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const PairStatistics found = statistics_of(c, 0.05, seed);
    sum += found.fraction - close;
    square += std::pow(found.fraction - close, 2);
    error_square += std::pow(found.fraction_error, 2);
  }
  EXPECT_LE(std::abs(sum), 4 * std::sqrt(square));
  EXPECT_NEAR(error_square / square, 1, 4 * 0.22);
}

// With every token in an arc below a half circle, the farthest from anywhere is an end of the arc:
// the iteration finds the smallest cosine exactly.
TEST(Pairs, FarthestPointIterationOnAnArc) {
  const Stream stream(10, "test.arc");
  Cloud c{{}, std::vector<double>(6000, 1.0), 3};
  for (std::size_t i = 0; i < 6000; ++i) {
    const double t = 2 * stream.uniform(i, 0);
    c.tokens.insert(c.tokens.end(), {std::cos(t), std::sin(t), 0.0});
  }
  const PairStatistics exact = statistics_of(c, 0.9, 0, 6000), found = statistics_of(c, 0.9);
  EXPECT_TRUE(found.sampled);
  EXPECT_EQ(found.smallest_cosine, exact.smallest_cosine);
  EXPECT_DOUBLE_EQ(found.largest_angle, exact.largest_angle);
  EXPECT_NEAR(found.fraction, exact.fraction, 4 * found.fraction_error);
}

TEST(Pairs, TheFractionDoesNotDependOnTheHistogram) {
  for (const double pull : {0.0, 3.0})
    for (const double threshold : {0.999, 0.6}) {
      const Cloud c = cloud(4, 3000, 5, pull, 3);
      const PairStatistics with = statistics_of(c, threshold, 1, 100);
      const PairStatistics exact = statistics_of(c, threshold, 1, 3000);
      const PairStatistics without =
          pair_statistics(c.tokens, c.dim, c.masses, threshold, 1, 100, false);
      EXPECT_EQ(without.fraction, with.fraction);
      EXPECT_EQ(without.fraction_error, with.fraction_error);
      EXPECT_GE(without.smallest_cosine, exact.smallest_cosine - 1e-12);
      EXPECT_NEAR(without.largest_angle, exact.largest_angle, 0.3);  // some pair's
      EXPECT_EQ(without.histogram[0], 0);
    }
}

TEST(Pairs, ThreadsDoNotShow) {
  const Cloud c = cloud(12, 2500, 3, 0.5, 3);
  set_threads(1);
  const MeanCosine mean = mean_of(c);
  const PairStatistics exact = statistics_of(c, 0.5), sampled = statistics_of(c, 0.5, 1, 100);
  for (const std::size_t count : {2, 4}) {
    set_threads(count);
    EXPECT_EQ(mean_of(c).one_minus_mean_cosine, mean.one_minus_mean_cosine);
    EXPECT_EQ(mean_of(c).order_parameter, mean.order_parameter);
    for (const bool whole : {true, false}) {
      const PairStatistics& one = whole ? exact : sampled;
      const PairStatistics many = statistics_of(c, 0.5, 1, whole ? 4096 : 100);
      EXPECT_EQ(many.fraction, one.fraction);
      EXPECT_EQ(many.fraction_error, one.fraction_error);
      EXPECT_EQ(many.smallest_cosine, one.smallest_cosine);
      EXPECT_EQ(many.largest_angle, one.largest_angle);
      EXPECT_EQ(many.histogram, one.histogram);
    }
  }
  set_threads(0);
}

}  // namespace
}  // namespace attractor::observe
