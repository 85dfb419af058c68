#include "attractor/observe/circle_pairs.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "attractor/base/random.hpp"
#include "attractor/observe/pairs.hpp"

namespace attractor::observe {
namespace {

struct RingCloud {
  std::vector<double> tokens, masses;
};

// kind 0: all around, 1: a few lumps, 2: one tight lump, 3: corners of a square, many on each.
RingCloud ring_cloud(std::uint64_t seed, std::size_t n, int kind) {
  const Stream stream(seed, "test.circle_pairs");
  RingCloud made;
  for (std::size_t i = 0; i < n; ++i) {
    const double u = stream.uniform(i, 0), v = stream.uniform(i, 1);
    const double angle = kind == 0   ? 7 * u
                         : kind == 1 ? 6 * stream.uniform(i % 4, 2) + 0.2 * u
                         : kind == 2 ? 1 + 1e-7 * u
                                     : std::numbers::pi / 2 * std::floor(4 * u);
    made.tokens.insert(made.tokens.end(), {std::cos(angle), std::sin(angle)});
    made.masses.push_back(1 + std::floor(3 * v));
  }
  return made;
}

TEST(CirclePairs, AreThoseOfAllPairs) {
  for (int kind = 0; kind < 4; ++kind)
    for (std::uint64_t seed = 0; seed < 5; ++seed)
      for (const double threshold : {0.999, 0.5, -0.3, -0.9999, 1 - 1e-15}) {
        const RingCloud c = ring_cloud(seed, 180, kind);
        const PairStatistics truth =
            pair_statistics(c.tokens, 2, c.masses, threshold, 0, c.masses.size());
        const PairStatistics found =
            circle_pair_statistics(*circle_order(c.tokens), c.tokens, c.masses, threshold, true);
        EXPECT_FALSE(truth.sampled);
        EXPECT_DOUBLE_EQ(found.fraction, truth.fraction) << kind << " " << seed << " " << threshold;
        EXPECT_NEAR(found.smallest_cosine, truth.smallest_cosine, 1e-15);
        EXPECT_NEAR(found.largest_angle, truth.largest_angle, 1e-15);
        EXPECT_EQ(found.fraction_error, 0);
        for (std::size_t b = 0; b < kCosineBins; ++b)
          EXPECT_NEAR(found.histogram[b], truth.histogram[b], 1e-15) << "bin " << b;
      }
}

TEST(CirclePairs, ManyTokensAreCountedNotSampled) {
  const RingCloud c = ring_cloud(9, 6000, 1);
  const PairStatistics found = pair_statistics(c.tokens, 2, c.masses, 0.999, 1, 1000);
  const PairStatistics truth = pair_statistics(c.tokens, 2, c.masses, 0.999, 1, 6000);
  EXPECT_FALSE(found.sampled);
  EXPECT_FALSE(found.smallest_is_bound);
  EXPECT_DOUBLE_EQ(found.fraction, truth.fraction);
  EXPECT_EQ(found.fraction_error, 0);
}

TEST(CirclePairs, OneTokenIsConsensus) {
  const std::vector<double> one{0.6, 0.8};
  const auto order = circle_order(one);
  EXPECT_EQ(circle_pair_statistics(*order, one, std::vector<double>{1}, 0.999, true).fraction, 1);
  const PairStatistics pair =
      circle_pair_statistics(*order, one, std::vector<double>{5}, 0.999, true);
  EXPECT_EQ(pair.fraction, 1);
  EXPECT_EQ(pair.smallest_cosine, 1);
  EXPECT_EQ(pair.histogram.back(), 1);
}

}  // namespace
}  // namespace attractor::observe
