#include "attractor/kernels/dense/mean_slope.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tests/support/simd_targets.hpp"

namespace attractor::kernels {
namespace {

class MeanSlopeTest : public OnOneTarget {};
INSTANTIATE_TEST_SUITE_P(Targets, MeanSlopeTest, testing::ValuesIn(every_target()), target_name);

constexpr std::size_t kSlopeCounts[] = {2, 3, 15, 16, 17, 23, 31, 64, 131};

struct Logits {
  std::vector<double> s, g;
  std::size_t a = 0;
};

Logits draw_logits(std::size_t count, double size, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  Logits l{std::vector<double>(count), std::vector<double>(count), 0};
  for (double& s : l.s) s = size * normal(random);
  for (double& g : l.g) g = normal(random);
  l.a = static_cast<std::size_t>(std::max_element(l.s.begin(), l.s.end()) - l.s.begin());
  return l;
}

// Plain sums in long double, whose exponents reach e^{11000}: nothing vanishes below that.
void expect_plain_sums(const Logits& l) {
  const std::size_t count = l.s.size();
  std::vector<double> s = l.s, c(count, 7.0);
  const MeanSlope slope = mean_slope(s, l.g, l.a, c);
  std::vector<long double> w(count);
  long double total = 0, excess = 0;
  for (std::size_t t = 0; t < count; ++t)
    total += w[t] = std::exp(static_cast<long double>(l.s[t]) - l.s[l.a]);
  for (std::size_t t = 0; t < count; ++t)
    excess += (w[t] /= total) * (static_cast<long double>(l.g[t]) - l.g[l.a]);
  long double size = 0;  // of the terms of the mean
  for (std::size_t t = 0; t < count; ++t)
    size += w[t] * std::abs(static_cast<long double>(l.g[t]) - l.g[l.a]);
  const long double scale = std::exp(static_cast<long double>(slope.log_weight));
  // Rounded logits are what there is; e^{log_weight} carries the rounding of a difference of them.
  const long double close = 4e-16L * (static_cast<long double>(count) + std::abs(slope.log_weight));
  EXPECT_NEAR(static_cast<double>((scale * slope.mean - excess) / (size + 1e-4900L)), 0,
              static_cast<double>(close));
  EXPECT_EQ(c[l.a], 0);
  for (std::size_t t = 0; t < count; ++t) {
    EXPECT_NEAR(s[t], static_cast<double>(w[t]), 1e-15 * static_cast<double>(count)) << t;
    if (t == l.a || l.s[t] - l.s[l.a] < -650 + slope.log_weight) continue;
    const long double moved = static_cast<long double>(l.g[t]) - l.g[l.a] - excess;
    const long double exact = w[t] * moved, bound = w[t] * (std::abs(moved) + size) * close;
    EXPECT_LE(std::abs(scale * c[t] - exact), bound) << t;
  }
}

TEST_P(MeanSlopeTest, AreThePlainSums) {
  const bool extended = std::exp(-1000.0L) > 0;  // else the plain sums are in doubles: WebAssembly
  for (std::size_t count : kSlopeCounts)
    for (double size : extended ? std::vector{0.1, 1.0, 30.0, 1000.0} : std::vector{0.1, 1.0})
      for (unsigned seed = 0; seed < 5; ++seed) expect_plain_sums(draw_logits(count, size, seed));
}

TEST_P(MeanSlopeTest, TokensOfEqualScoreDoNotSetTheScale) {
  for (std::size_t count : kSlopeCounts) {
    Logits l = draw_logits(count, 1, 3);
    for (std::size_t t = 0; t < count; ++t)
      if (t % 3 != 1) l.g[t] = l.g[l.a];
    l.g[(l.a + 1) % count] = l.g[l.a] - 1;
    expect_plain_sums(l);
    for (double& g : l.g) g = 2;  // nothing moves
    std::vector<double> c(count, 7.0);
    const MeanSlope slope = mean_slope(l.s, l.g, l.a, c);
    EXPECT_EQ(slope.mean, 0);
    EXPECT_EQ(slope.excess, 0);
    EXPECT_EQ(slope.log_weight, -std::numeric_limits<double>::infinity());
    for (double x : c) EXPECT_EQ(x, 0);
  }
}

// The token next to the top weighs e^{-gap}, gap beyond any exponent: the slope is that of two
// tokens, in logarithms.
TEST_P(MeanSlopeTest, KeepsTheScaleOfVanishedWeights) {
  for (std::size_t count : kSlopeCounts)
    for (double gap : {800.0, 1e6, 1e300}) {
      std::vector<double> s(count, -4 * gap), g(count, 0.5), c(count);
      s[count / 2] = gap, s[count - 1] = 0;
      g[count / 2] = 1, g[count - 1] = -1;
      if (count == 2) s[0] = -gap, s[1] = 0, g[0] = -1, g[1] = 1;
      const std::size_t a = count == 2 ? 1 : count / 2, other = count == 2 ? 0 : count - 1;
      const MeanSlope slope = mean_slope(s, g, a, c);
      EXPECT_EQ(slope.log_weight, -gap);
      EXPECT_EQ(slope.mean, -2);
      EXPECT_EQ(slope.excess, 0);
      EXPECT_EQ(c[other], -2);
      EXPECT_EQ(s[a], 1);
    }
}

TEST_P(MeanSlopeTest, DoesNotHideWhatIsNotANumber) {
  for (std::size_t count : kSlopeCounts) {
    Logits l = draw_logits(count, 1, 1);
    l.s[l.a == 0 ? 1 : 0] = std::numeric_limits<double>::quiet_NaN();
    std::vector<double> c(count);
    EXPECT_TRUE(std::isnan(mean_slope(l.s, l.g, l.a, c).mean));
  }
}

}  // namespace
}  // namespace attractor::kernels
