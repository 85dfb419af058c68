// Enclosed sums against rational numbers.
#include "attractor/solve/enclosed_sum.hpp"

#include <gtest/gtest.h>

#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "attractor/base/random.hpp"
#include "tests/support/rational.hpp"

namespace attractor::solve {
namespace {

using boost::multiprecision::cpp_rational;

struct Exact {
  EnclosedSum sum{};
  cpp_rational value = 0;
  void add(double a, double b) {
    sum.add(a, b);
    value += cpp_rational(a) * cpp_rational(b);
  }
  cpp_rational miss() const { return abs(cpp_rational(rational(sum.value()) - value)); }
};

// Terms of up to 2^60 that cancel to almost nothing, thousands of times.
TEST(EnclosedSum, ErrorIsABoundAndASmallOne) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const Stream stream(seed, "test.enclosed_sum");
    Exact exact;
    double size = 0;
    const std::size_t terms = 1 + stream.below(200, 0, 0);
    for (std::size_t k = 0; k < terms; ++k) {
      const double scale = std::exp2(static_cast<double>(stream.below(120, 1, k)) - 60);
      const double a = scale * stream.normal(2, k), b = stream.normal(3, k);
      exact.add(a, b);
      size += std::abs(a * b);
      if (seed % 2 == 0) exact.add(-a, b * (1 + 0x1p-40 * stream.normal(4, k)));
    }
    ASSERT_LE(exact.miss(), rational(exact.sum.error())) << seed;
    const long double rest = 2e-34L * static_cast<long double>(terms) * size;
    EXPECT_LE(exact.sum.error(), 2e-19L * std::abs(exact.sum.value()) + rest) << seed;
  }
}

TEST(EnclosedSum, WithoutRoundingsNothingIsLost) {
  EnclosedSum sum;
  sum.add(3, 7);
  sum.add(-0.5, 8);
  sum.add(-17);
  EXPECT_EQ(sum.value(), 0);
  EXPECT_EQ(sum.error(), 0);
}

// 0.1 * 0.1 - 0.01 in doubles is the rounding of 0.1 alone.
TEST(EnclosedSum, ARoundingIsCounted) {
  Exact exact;
  exact.add(0.1, 0.1);
  exact.add(-1, 0.01);
  EXPECT_NE(exact.sum.value(), 0);
  EXPECT_LE(exact.miss(), rational(exact.sum.error()));
}

TEST(EnclosedSum, UnderflowAndOverflowAreCounted) {
  Exact exact;
  for (int k = 0; k < 50; ++k) exact.add(1.1e-170 * (k + 1), 1.3e-150);
  EXPECT_GT(exact.sum.error(), 0);
  EXPECT_LE(exact.miss(), rational(exact.sum.error() * 0x1p200L) / cpp_rational(0x1p200));
  EnclosedSum large;
  large.add(1e200, 1e200);
  large.add(-1e200, 1e200);
  EXPECT_TRUE(std::isinf(large.error()));
}

TEST(EnclosedSum, RoundsOutwards) {
  for (const long double x : {1 + 0x1p-60L, -1 - 0x1p-60L, 1.0L / 3, -1.0L / 3, 0.5L, 0.0L}) {
    EXPECT_LE(rounded_down(x), x);
    EXPECT_GE(rounded_up(x), x);
    EXPECT_LE(rounded_up(x) - rounded_down(x),
              std::numeric_limits<double>::epsilon() * std::abs(x) + 1e-300L);
  }
  EXPECT_EQ(rounded_up(0.25L), 0.25);
  EXPECT_EQ(rounded_down(0.25L), 0.25);
}

}  // namespace
}  // namespace attractor::solve
