#include "attractor/base/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <vector>

#include "tests/support/kolmogorov_smirnov.hpp"

namespace attractor {
namespace {

using Words = std::array<std::uint64_t, 4>;

// Threefry-4x64-20 written from the paper (Salmon et al., SC 2011): Threefish-256 without tweak.
Words threefry(Words x, const Words& key) {
  constexpr int kRotation[8][2] = {{14, 16}, {52, 57}, {23, 40}, {5, 37},
                                   {25, 33}, {46, 12}, {58, 22}, {32, 32}};
  const auto turn = [](std::uint64_t v, int bits) { return (v << bits) | (v >> (64 - bits)); };
  std::array<std::uint64_t, 5> k{key[0], key[1], key[2], key[3], 0x1bd11bdaa9fc1a22U};
  for (int a = 0; a < 4; ++a) k[4] ^= key[a];
  for (int a = 0; a < 4; ++a) x[a] += k[a];
  for (int round = 0; round < 20; ++round) {
    const int other = round % 2 == 0 ? 1 : 3;
    x[0] += x[other];
    x[other] = turn(x[other], kRotation[round % 8][0]) ^ x[0];
    x[2] += x[4 - other];
    x[4 - other] = turn(x[4 - other], kRotation[round % 8][1]) ^ x[2];
    if (round % 4 != 3) continue;
    const int injection = (round + 1) / 4;
    for (int a = 0; a < 4; ++a) x[a] += k[(injection + a) % 5];
    x[3] += static_cast<std::uint64_t>(injection);
  }
  return x;
}

// Published FNV-1a (64 bit) values.
constexpr std::uint64_t kHashOfNothing = 0xcbf29ce484222325U, kHashOfA = 0xaf63dc4c8601ec8cU,
                        kHashOfFoobar = 0x85944171f73967e8U;

double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

TEST(RandomStream, TheReferenceOfThisTestGivesThePublishedVectors) {
  // kat_vectors of Random123, lines "threefry4x64 20".
  constexpr std::uint64_t kAll = ~std::uint64_t{0};
  EXPECT_EQ(
      threefry({0, 0, 0, 0}, {0, 0, 0, 0}),
      (Words{0x09218ebde6c85537U, 0x55941f5266d86105U, 0x4bd25e16282434dcU, 0xee29ec846bd2e40bU}));
  EXPECT_EQ(
      threefry({kAll, kAll, kAll, kAll}, {kAll, kAll, kAll, kAll}),
      (Words{0x29c24097942bba1bU, 0x0371bbfb0f6f4e11U, 0x3c231ffa33f83a1cU, 0xcd29113fde32d168U}));
}

TEST(RandomStream, DrawsAreThreefryKeyedBySeedAndNameCountedByItemAndBlock) {
  const std::uint64_t seeds[] = {0, 1, 0x123456789abcdef0U, ~std::uint64_t{0}};
  const std::pair<const char*, std::uint64_t> names[] = {
      {"", kHashOfNothing}, {"a", kHashOfA}, {"foobar", kHashOfFoobar}};
  for (const std::uint64_t seed : seeds)
    for (const auto& [name, hash] : names)
      for (const std::uint64_t item : {std::uint64_t{0}, std::uint64_t{7}, ~std::uint64_t{0}})
        for (std::uint64_t index = 0; index < 11; ++index) {
          const Stream stream(seed, name);
          const std::uint64_t bits =
              threefry({item, index / 4, 0, 0}, {seed, hash, 0, 0})[index % 4];
          // 2^64 u and the bits agree to the 53 bits a double holds.
          EXPECT_NEAR(stream.uniform(item, index), std::ldexp(static_cast<double>(bits), -64),
                      0x1p-53);
          // below(2^k) is the k leading bits.
          EXPECT_EQ(stream.below(std::uint64_t{1} << 40, item, index), bits >> 24);
        }
}

TEST(RandomStream, ADrawDoesNotDependOnTheOrderOfCalls) {
  const Stream forward(5, "order"), backward(5, "order");
  std::vector<double> first, second;
  for (std::uint64_t k = 0; k < 300; ++k) first.push_back(forward.uniform(k / 10, k % 10));
  for (std::uint64_t k = 300; k-- > 0;) {
    backward.normal(k, 1);
    second.push_back(backward.uniform(k / 10, k % 10));
  }
  std::reverse(second.begin(), second.end());
  EXPECT_EQ(first, second);
}

TEST(RandomStream, EverySeedNameItemAndIndexHasItsOwnDraw) {
  std::set<double> seen;
  std::size_t drawn = 0;
  for (const std::uint64_t seed : {0, 1, 2, 3})
    for (const char* name : {"tokens", "token", "Tokens", "", "noise"})
      for (const std::uint64_t item : {0, 1, 2, 1000000})
        for (const std::uint64_t index : {0, 1, 2, 3, 4, 5, 400000}) {
          seen.insert(Stream(seed, name).uniform(item, index));
          ++drawn;
        }
  EXPECT_EQ(seen.size(), drawn);
}

TEST(RandomStream, UniformsLieStrictlyBetweenZeroAndOneAndFillTheInterval) {
  const Stream stream(11, "uniform");
  std::vector<double> sample;
  for (std::uint64_t k = 0; k < 100000; ++k) sample.push_back(stream.uniform(k / 100, k % 100));
  for (const double u : sample) {
    ASSERT_GT(u, 0);
    ASSERT_LT(u, 1);
  }
  EXPECT_LT(kolmogorov_smirnov(sample, [](double x) { return x; }), 1.95);
}

TEST(RandomStream, NeighbouringDrawsAreUncorrelated) {
  const Stream stream(12, "pairs");
  const std::uint64_t n = 100000;
  double along_index = 0, along_item = 0, along_seed = 0, normals = 0;
  const Stream next_seed(13, "pairs");
  for (std::uint64_t k = 0; k < n; ++k) {
    const double u = stream.uniform(k, 0) - 0.5;
    along_index += u * (stream.uniform(k, 1) - 0.5);
    along_item += u * (stream.uniform(k + 1, 0) - 0.5);
    along_seed += u * (next_seed.uniform(k, 0) - 0.5);
    normals += stream.normal(k, 0) * stream.normal(k, 1);
  }
  // Each product has standard deviation 1/12 (uniform) or 1 (normal); 4 standard errors.
  const double error = 4 / std::sqrt(static_cast<double>(n));
  EXPECT_NEAR(along_index / static_cast<double>(n), 0, error / 12);
  EXPECT_NEAR(along_item / static_cast<double>(n), 0, error / 12);
  EXPECT_NEAR(along_seed / static_cast<double>(n), 0, error / 12);
  EXPECT_NEAR(normals / static_cast<double>(n), 0, error);
}

TEST(RandomStream, NormalsHaveTheMomentsAndTheDistributionOfAGaussian) {
  const Stream stream(13, "normal");
  const std::uint64_t n = 200000;
  std::vector<double> sample;
  double moment[5] = {};
  for (std::uint64_t k = 0; k < n; ++k) {
    sample.push_back(stream.normal(k / 50, k % 50));
    for (int p = 1; p <= 4; ++p) moment[p] += std::pow(sample.back(), p) / static_cast<double>(n);
  }
  // Var x^p = E x^2p - (E x^p)^2 = 1, 2, 15, 96; 4 standard errors.
  const double error = 4 / std::sqrt(static_cast<double>(n));
  EXPECT_NEAR(moment[1], 0, error);
  EXPECT_NEAR(moment[2], 1, error * std::sqrt(2.0));
  EXPECT_NEAR(moment[3], 0, error * std::sqrt(15.0));
  EXPECT_NEAR(moment[4], 3, error * std::sqrt(96.0));
  EXPECT_LT(kolmogorov_smirnov(sample, normal_cdf), 1.95);
}

TEST(RandomStream, BelowIsUnbiasedByChiSquare) {
  const Stream stream(14, "below");
  for (const std::uint64_t bound : {2, 3, 7, 10, 64, 1000}) {
    const std::uint64_t draws = 100 * bound + 50000;
    std::vector<double> count(bound, 0);
    for (std::uint64_t k = 0; k < draws; ++k) {
      const std::uint64_t value = stream.below(bound, bound, k);
      ASSERT_LT(value, bound);
      count[value] += 1;
    }
    const double expected = static_cast<double>(draws) / static_cast<double>(bound);
    double chi = 0;
    for (const double c : count) chi += (c - expected) * (c - expected) / expected;
    // Wilson-Hilferty: (chi/f)^(1/3) is normal with variance 2/(9f); 3.3 deviations either side.
    const double f = static_cast<double>(bound - 1), spread = 2 / (9 * f);
    EXPECT_LT(std::abs(std::cbrt(chi / f) - (1 - spread)) / std::sqrt(spread), 3.3) << bound;
  }
}

TEST(RandomStream, BelowReachesBothEndsOfEveryBound) {
  const Stream stream(15, "ends");
  constexpr std::uint64_t kMost = ~std::uint64_t{0};
  std::uint64_t lowest = kMost, highest = 0;
  for (std::uint64_t k = 0; k < 4000; ++k) {
    EXPECT_EQ(stream.below(1, k, 0), 0U);
    lowest = std::min(lowest, stream.below(kMost, k, 0));
    highest = std::max(highest, stream.below(kMost, k, 0));
  }
  // The smallest of 4000 uniforms exceeds 0.01 with probability e^-40.
  EXPECT_LT(lowest, kMost / 100);
  EXPECT_GT(highest, kMost - kMost / 100);
}

TEST(RandomStream, NormalsFillsWhatNormalDrawsAtEveryLength) {
  const Stream stream(16, "vector");
  for (std::size_t length = 0; length <= 19; ++length) {
    std::vector<double> all(length + 1, -77.0);
    stream.normals(3, std::span(all).first(length));
    for (std::size_t k = 0; k < length; ++k) EXPECT_EQ(all[k], stream.normal(3, k)) << length;
    EXPECT_EQ(all[length], -77.0) << "wrote past the end of " << length;
  }
}

}  // namespace
}  // namespace attractor
