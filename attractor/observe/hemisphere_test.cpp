#include "attractor/observe/hemisphere.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "attractor/base/random.hpp"
#include "attractor/space/space.hpp"
#include "tests/support/random_rows.hpp"

namespace attractor::observe {
namespace {

using std::numbers::pi;

// The pole is a witness: unit, and every token at least `depth` deep, one of them exactly.
void expect_witness(const Hemisphere& found, std::span<const double> tokens, std::size_t dim) {
  ASSERT_TRUE(found.inside);
  EXPECT_TRUE(found.decided);
  ASSERT_EQ(found.pole.size(), dim);
  EXPECT_NEAR(norm(found.pole), 1, 1e-13);
  EXPECT_GT(found.depth, 0);
  double smallest = INFINITY;
  for (std::size_t i = 0; i < tokens.size() / dim; ++i)
    smallest = std::min(smallest, dot(tokens.subspan(i * dim, dim), found.pole));
  EXPECT_NEAR(found.depth, smallest, 1e-14);
}

std::size_t count_inside(std::uint64_t seed, std::size_t draws, std::size_t n, std::size_t dim) {
  const Stream stream(seed, "test.wendel");
  std::size_t inside = 0;
  for (std::size_t draw = 0; draw < draws; ++draw) {
    const Hemisphere found = hemisphere(uniform_draw(stream, draw, n, dim), dim);
    EXPECT_TRUE(found.decided);
    inside += found.inside;
  }
  return inside;
}

// Binomial count within 4 standard deviations: fails for one correct seed in 16000; seeds are
// fixed.
void expect_wendel(std::uint64_t seed, std::size_t n, std::size_t dim, double probability) {
  const double draws = 2000, deviation = std::sqrt(draws * probability * (1 - probability));
  EXPECT_NEAR(double(count_inside(seed, 2000, n, dim)), draws * probability, 4 * deviation);
}

TEST(Hemisphere, WendelHalf) { expect_wendel(1, 20, 10, 0.5); }
TEST(Hemisphere, WendelRare) { expect_wendel(2, 16, 4, 0.017578125); }

TEST(Hemisphere, FewTokensAlwaysFit) {
  const Stream stream(3, "test.few");
  for (const std::size_t dim : {2, 5, 16, 64})
    for (std::size_t draw = 0; draw < 20; ++draw) {
      const std::size_t n = 1 + draw % dim;
      const std::vector<double> tokens = uniform_draw(stream, 1000 * dim + draw, n, dim);
      expect_witness(hemisphere(tokens, dim), tokens, dim);
    }
}

// The independent truth on the circle: the largest gap between neighbouring angles exceeds pi, and
// then the tokens fill the arc 2 pi - gap, whose middle is the pole.
TEST(Hemisphere, CircleAgainstTheLargestGap) {
  const Stream stream(4, "test.circle");
  std::size_t inside = 0;
  for (std::uint64_t draw = 0; draw < 2000; ++draw) {
    const std::size_t n = 1 + draw % 9;
    std::vector<double> angles, tokens;
    for (std::size_t i = 0; i < n; ++i) {
      angles.push_back(2 * pi * stream.uniform(draw, i));
      tokens.insert(tokens.end(), {std::cos(angles[i]), std::sin(angles[i])});
    }
    std::sort(angles.begin(), angles.end());
    double gap = angles[0] + 2 * pi - angles.back();
    for (std::size_t i = 1; i < n; ++i) gap = std::max(gap, angles[i] - angles[i - 1]);
    const Hemisphere found = hemisphere(tokens, 2);
    ASSERT_EQ(found.inside, gap > pi) << draw;
    inside += found.inside;
    EXPECT_NEAR(found.depth, gap > pi ? std::cos(pi - gap / 2) : 0, 1e-12);
    if (found.inside) expect_witness(found, tokens, 2);
  }
  EXPECT_GT(inside, 500u);
  EXPECT_LT(inside, 1500u);
}

TEST(Hemisphere, AntipodalPairDoesNot) {
  const Stream stream(5, "test.antipodal");
  for (const std::size_t dim : {1, 2, 3, 50}) {
    std::vector<double> tokens = uniform_draw(stream, dim, 1, dim);
    for (std::size_t a = 0; a < dim; ++a) tokens.push_back(-tokens[a]);
    const Hemisphere found = hemisphere(tokens, dim);
    EXPECT_FALSE(found.inside);
    EXPECT_TRUE(found.decided);
    EXPECT_EQ(found.depth, 0);
    EXPECT_TRUE(found.pole.empty());
  }
}

// Tokens around the equator: in a closed hemisphere, not in an open one, even with others above it.
// Lifted by any resolvable height they are inside, that deep.
TEST(Hemisphere, Equator) {
  for (const double lift : {0.0, 1e-10, 1e-7, 1e-3}) {
    std::vector<double> tokens = {0, 0, 1, 0.6, 0, 0.8};
    for (std::size_t i = 0; i < 12; ++i) {
      const double t = 2 * pi * double(i) / 12 + 0.1;
      tokens.insert(tokens.end(), {std::cos(t), std::sin(t), lift});
    }
    const Hemisphere found = hemisphere(tokens, 3);
    EXPECT_EQ(found.inside, lift > 0);
    EXPECT_TRUE(found.decided);
    EXPECT_NEAR(found.depth, lift, 1e-12);
  }
}

// A half circle with both ends is not open; without one end it is, arbitrarily shallow.
TEST(Hemisphere, HalfCircle) {
  for (const double missing : {0.0, 1e-9, 1e-4}) {
    std::vector<double> tokens;
    for (std::size_t i = 0; i <= 20; ++i) {
      const double t = (pi - missing) * double(i) / 20;
      tokens.insert(tokens.end(), {std::cos(t), std::sin(t)});
    }
    const Hemisphere found = hemisphere(tokens, 2);
    EXPECT_EQ(found.inside, missing > 0);
    EXPECT_NEAR(found.depth, std::sin(missing / 2), 1e-12);
  }
}

TEST(Hemisphere, ConsensusAndZeroToken) {
  const std::vector<double> same = {0, 1, 0, 1, 0, 1};
  EXPECT_DOUBLE_EQ(hemisphere(same, 2).depth, 1);
  const std::vector<double> with_zero = {0, 1, 0, 0, 1, 0};
  EXPECT_FALSE(hemisphere(with_zero, 2).inside);
}

}  // namespace
}  // namespace attractor::observe
