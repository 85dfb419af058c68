#include "attractor/solve/exact/fraction.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>

#include "attractor/base/numbers.hpp"
#include "attractor/base/random.hpp"

namespace attractor::solve {
namespace {

Fraction fraction(const char* n, const char* d) { return Fraction(Integer(n), Integer(d)); }

TEST(Fraction, TextIsInLowestTermsWithTheSignInFront) {
  EXPECT_EQ(Fraction().str(), "0");
  EXPECT_EQ(fraction("0", "7").str(), "0");
  EXPECT_EQ(fraction("-6", "4").str(), "-3/2");
  EXPECT_EQ(Fraction(Fraction(6) / Fraction(-4)).str(), "-3/2");
  EXPECT_EQ(Fraction(Fraction(-6) / Fraction(-4)).str(), "3/2");
  EXPECT_EQ(fraction("-12", "4").str(), "-3");
  EXPECT_EQ(Fraction(fraction("1", "6") + fraction("1", "10")).str(), "4/15");
  EXPECT_EQ(Fraction(fraction("1", "6") - fraction("7", "6")).str(), "-1");
  EXPECT_EQ(Fraction("-123456789012345678901234567890/97").str(),
            "-123456789012345678901234567890/97");
}

TEST(Fraction, DoublesAreExact) {
  EXPECT_EQ(Fraction(0.1).str(), "3602879701896397/36028797018963968");
  EXPECT_EQ(Fraction(-0x1p60).str(), "-1152921504606846976");
  const Integer small = Integer(1) << 1074;
  EXPECT_EQ(Fraction(-0x1p-1074), Fraction(Integer(-1), small));
  const Stream stream(1, "test.fraction");
  for (std::uint64_t k = 0; k < 2000; ++k) {
    const auto exponent = static_cast<int>(stream.below(2090, k, 0)) - 1070;
    const double x = std::ldexp(stream.uniform(k, 1) - 0.5, exponent);  // below 2^-1022 too
    EXPECT_EQ(towards_zero(Fraction(x)), x);
  }
}

// Between doubles, beside them by one part in 10^40, and where there are none left.
TEST(Fraction, TowardsZero) {
  EXPECT_EQ(towards_zero(fraction("1", "3")), 0x1.5555555555555p-2);
  EXPECT_EQ(towards_zero(fraction("-2", "3")), -0x1.5555555555555p-1);
  EXPECT_EQ(towards_zero(Fraction()), 0);
  const Fraction little = fraction("1", "10000000000000000000000000000000000000000");
  for (const double x : {1.0, 0.1, 0x1p-1022, 0x1.8p-1060, 0x1.fffffffffffffp+1023}) {
    EXPECT_EQ(towards_zero(Fraction(x) * (1 + little)), x);
    EXPECT_EQ(towards_zero(Fraction(-x) * (1 - little)), -std::nextafter(x, 0.0));
  }
  const Fraction one_beyond = Fraction(Integer(Integer(1) << 1024));
  EXPECT_EQ(towards_zero(one_beyond), kInfinity);
  EXPECT_EQ(towards_zero(-one_beyond), -kInfinity);
  EXPECT_EQ(towards_zero(Fraction(0x1p-1074) * (1 - little)), 0);
}

TEST(Fraction, ExactDivisionAndDigits) {
  const Integer a("-170141183460469231731687303715884105727"), b("618970019642690137449562111");
  Integer product = a * b;
  divide_exactly(product, b);
  EXPECT_EQ(product, a);
  EXPECT_EQ(bits(b), 89);
  EXPECT_EQ(bits(Integer(b + 1)), 90);
}

}  // namespace
}  // namespace attractor::solve
