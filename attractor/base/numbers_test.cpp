// What proofs take for granted of the arithmetic below them.
#include "attractor/base/numbers.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "attractor/base/random.hpp"

namespace attractor {
namespace {

// What is left of a, rounded once.
long double residual(long double a, long double quotient, long double b) {
  return std::fma(-quotient, b, a);
}

// Quotients beside powers of two, where a carry runs through all digits.
TEST(LongDouble, DividesBesidePowersOfTwo) {
  for (const int power : {-40, -1, 0, 1, 200})
    for (int k = -20; k <= 20; ++k)
      for (int m = -20; m <= 20; ++m) {
        volatile long double a = std::ldexp(1 + kExtendedEpsilon / 2 * k, power);
        volatile long double b = 1 + kExtendedEpsilon / 2 * m;
        volatile long double quotient = a / b;
        EXPECT_NEAR(static_cast<double>(std::ldexp(static_cast<long double>(quotient), -power)), 1,
                    1e-15)
            << power << ' ' << k << ' ' << m;
        EXPECT_LE(std::abs(residual(a, quotient, b)), kExtendedEpsilon * std::abs(a))
            << power << ' ' << k << ' ' << m;
      }
}

TEST(LongDouble, DividesToTheNearest) {
  const Stream stream(1, "test.long_double");
  for (std::uint64_t k = 0; k < 2000; ++k) {
    const long double tail =
        kExtendedEpsilon * 1e6L * static_cast<long double>(stream.normal(k, 0));
    volatile long double a = std::exp(30 * stream.normal(k, 1)) * (1 + tail);
    volatile long double b =
        (k % 2 == 0 ? 1 : -1) * std::exp(30 * stream.normal(k, 2)) * (1 - tail);
    volatile long double quotient = a / b;
    const long double half =
        std::ldexp(kExtendedEpsilon / 2, std::ilogb(static_cast<long double>(quotient)));
    EXPECT_LE(std::abs(residual(a, quotient, b)), half * std::abs(b) * (1 + 8 * kExtendedEpsilon))
        << k;
  }
}

TEST(LongDouble, DividesWhatIsNoNumberToo) {
  volatile long double zero = 0, one = 1, infinite = kInfinity;
  volatile long double none = kNan;
  EXPECT_TRUE(std::isnan(static_cast<long double>(none / one)));
  EXPECT_TRUE(std::isnan(static_cast<long double>(one / none)));
  EXPECT_TRUE(std::signbit(static_cast<long double>(-one / infinite)));
  EXPECT_TRUE(std::isnan(static_cast<long double>(zero / zero)));
  EXPECT_TRUE(std::isnan(static_cast<long double>(infinite / infinite)));
  EXPECT_EQ(one / zero, kInfinity);
  EXPECT_EQ(-one / infinite, 0);
  EXPECT_EQ(-infinite / one, -kInfinity);
  volatile long double least = std::numeric_limits<long double>::denorm_min();
  EXPECT_EQ(least / one, least);
  EXPECT_EQ(least / (2 * one), 0);  // a tie, to even
  EXPECT_EQ(3 * least / (2 * one), 2 * least);
  EXPECT_EQ(7 * least / (4 * one), 2 * least);
  EXPECT_EQ(5 * least / (4 * one), least);
  EXPECT_EQ(1001 * least / (3 * one), 334 * least);  // 333.67
  EXPECT_EQ(6 * least / (3 * least), 2);
  EXPECT_EQ(one / (3 * least), kInfinity);
  EXPECT_EQ(std::numeric_limits<long double>::max() / (one / 2), kInfinity);
  EXPECT_EQ(std::numeric_limits<long double>::min() / (one * 4) * 4,
            std::numeric_limits<long double>::min());
}

}  // namespace
}  // namespace attractor
