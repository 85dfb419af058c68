#include "attractor/flow/time.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace attractor::flow {
namespace {

TEST(Time, IsAPlainDoubleInItsOwnUnit) {
  Time t;
  double sum = 0;
  for (int k = 0; k < 1000; ++k) {
    t = t.after(0.1, 0);
    sum += 0.1;
  }
  EXPECT_EQ(t.value(), sum);
  EXPECT_EQ(t.exponent(), 0);
}

TEST(Time, HoldsWhatNoDoubleHolds) {
  const Time small(2, -1e6), large(3, 1e6);
  EXPECT_EQ(small.value(), 0);
  EXPECT_TRUE(std::isinf(large.value()));
  EXPECT_DOUBLE_EQ(small.log(), std::log(2.0) - 1e6);
  EXPECT_DOUBLE_EQ(large.in_unit(1e6 - 1), 3 * std::exp(1.0));
  EXPECT_TRUE(small < large);
  EXPECT_FALSE(large < small);
}

TEST(Time, AddsAcrossUnits) {
  const Time t = Time(5, -700).after(2, -699);
  EXPECT_NEAR(t.in_unit(-700), 5 + 2 * std::exp(1.0), 1e-12);
  const Time far = Time(5, -700).after(2, 700);  // the first part is lost, as it must be
  EXPECT_NEAR(far.log(), std::log(2.0) + 700, 1e-12);
}

TEST(Time, ComparesAcrossUnits) {
  EXPECT_TRUE(Time(1) < Time(3, -1));   // 1 < 3/e
  EXPECT_FALSE(Time(1) < Time(2, -1));  // 1 > 2/e
  EXPECT_TRUE(Time(1e300, 600) < Time(1e300, 601));
  EXPECT_TRUE(Time(0) < Time(1, -1e6));
  EXPECT_TRUE(Time(1e308) < Time(INFINITY));
}

}  // namespace
}  // namespace attractor::flow
