#include "attractor/commands/time_axis.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "attractor/base/numbers.hpp"

namespace attractor::lab {
namespace {

TEST(TimeAxis, LinearWhereTimesAreAlike) {
  const std::vector<double> times = {-kInfinity, 0, std::log10(5)};
  const TimeAxis axis = time_axis(times);
  EXPECT_EQ(axis.axis.scale, report::Scale::linear);
  EXPECT_EQ(axis.axis.low, 0) << "t = 0 is on it";
  EXPECT_NEAR(axis.axis.high, 5, 1e-12);
  EXPECT_NEAR(axis.at(std::log10(2.5)), 2.5, 1e-12);
  EXPECT_EQ(scene_clock(axis, times).at[0], 0);
}

TEST(TimeAxis, PowersWhereTheyAreNot) {
  const std::vector<double> times = {-kInfinity, -2, 30};
  const TimeAxis axis = time_axis(times);
  EXPECT_EQ(axis.axis.scale, report::Scale::power);
  EXPECT_EQ(axis.axis.low, -2);
  EXPECT_EQ(axis.at(12.0), 12);
  EXPECT_TRUE(std::isnan(scene_clock(axis, times).at[0])) << "t = 0 is not on it";
}

TEST(TimeAxis, LargeTimesInTheirUnit) {
  const TimeAxis axis = time_axis(std::vector<double>{20, 20.5});
  EXPECT_EQ(axis.axis.label, "time t / 10^{20}");
  EXPECT_NEAR(axis.at(20.0), 1, 1e-12);
}

}  // namespace
}  // namespace attractor::lab
