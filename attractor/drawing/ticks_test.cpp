#include "attractor/drawing/ticks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "attractor/base/random.hpp"

namespace attractor::report {
namespace {

/// At most so many stand side by side.
std::vector<Tick> at_most(const Axis& axis, const Range& range, std::size_t most) {
  return ticks(axis, range, [most](const std::vector<Tick>& some) { return some.size() <= most; });
}

std::vector<std::string> labels(const std::vector<Tick>& all) {
  std::vector<std::string> words;
  for (const Tick& tick : all) words.push_back(tick.label);
  return words;
}

using Words = std::vector<std::string>;

TEST(Ticks, RoundNumbersWithTheSameDecimals) {
  EXPECT_EQ(labels(at_most({}, {0, 1}, 6)), (Words{"0", "0.2", "0.4", "0.6", "0.8", "1.0"}));
  EXPECT_EQ(labels(at_most({}, {-1.03, 1.03}, 5)), (Words{"−1.0", "−0.5", "0", "0.5", "1.0"}));
  EXPECT_EQ(labels(at_most({}, {0, 60}, 7)), (Words{"0", "10", "20", "30", "40", "50", "60"}));
  EXPECT_EQ(labels(at_most({}, {0, 2e6}, 5)),
            (Words{"0", "5·10^{5}", "10^{6}", "1.5·10^{6}", "2·10^{6}"}));
  EXPECT_EQ(labels(at_most({}, {0, 3e-7}, 4)), (Words{"0", "10^{−7}", "2·10^{−7}", "3·10^{−7}"}));
}

TEST(Ticks, NoneBetweenWholeNumbers) {
  for (const double high : {1.2, 2.5, 4.0, 17.0, 1000.0})
    for (const Tick& tick : at_most({.whole = true}, {-0.5, high}, 12)) {
      EXPECT_EQ(tick.at, std::round(tick.at)) << high;
      EXPECT_EQ(tick.label.find('.'), std::string::npos) << tick.label;
    }
}

TEST(Ticks, PowersOfTen) {
  const Axis log{.scale = Scale::log}, power{.scale = Scale::power};
  EXPECT_EQ(labels(at_most(log, {0.75, 80}, 9)), (Words{"1", "2", "5", "10", "20", "50"}));
  EXPECT_EQ(labels(at_most(log, {1, 1e8}, 5)),
            (Words{"10^{0}", "10^{2}", "10^{4}", "10^{6}", "10^{8}"}));
  EXPECT_EQ(labels(at_most(power, {-2, 30}, 8)),
            (Words{"10^{0}", "10^{5}", "10^{10}", "10^{15}", "10^{20}", "10^{25}", "10^{30}"}));
  // Of exponents that are close the numbers themselves.
  EXPECT_EQ(labels(at_most(power, {std::log10(0.9), std::log10(1.2)}, 4)),
            (Words{"0.9", "1.0", "1.1", "1.2"}));
  EXPECT_NEAR(at_most(power, {std::log10(0.9), std::log10(1.2)}, 4)[2].at, std::log10(1.1), 1e-12);
}

TEST(Ticks, ExponentsWithoutEndTakeNoTimeWithoutEnd) {
  for (const double low : {-1e4, -4e8, -1e15, -1e290}) {
    const auto few = [](const std::vector<Tick>& some) {
      EXPECT_LE(some.size(), 1001U);
      return some.size() <= 6;
    };
    const std::vector<Tick> found = ticks({.scale = Scale::power}, {low, 10}, few);
    EXPECT_GE(found.size(), 2U) << low;
    EXPECT_LE(found.size(), 6U) << low;
  }
}

TEST(Ticks, WordsOfAnAxis) {
  const Axis axis{.names = {"post", "pre", "peri"}};
  EXPECT_EQ(labels(at_most(axis, {-0.5, 2.5}, 3)), (Words{"post", "pre", "peri"}));
  EXPECT_EQ(labels(at_most(axis, {-0.5, 2.5}, 2)), (Words{"post", "peri"}));
}

// Whatever the range is, ticks lie in it, ascend, and are as many as fit; there is always one.
TEST(Ticks, AnyRange) {
  const Stream stream(3, "test.ticks");
  for (std::uint64_t k = 0; k < 2000; ++k) {
    std::array<double, 3> draw{};
    stream.normals(k, draw);
    const double low = draw[0] * std::pow(10, 6 * draw[1]);
    const double high = low + std::pow(10, 4 * draw[2]) * std::max(1e-3, std::abs(low));
    const Axis axis{.scale = k % 3 == 0 ? Scale::power : Scale::linear};
    const Range range = axis.scale == Scale::power
                            ? Range{draw[0], draw[0] + std::abs(8 * draw[1]) + 1}
                            : Range{low, high};
    const std::vector<Tick> found = at_most(axis, range, 5);
    ASSERT_FALSE(found.empty()) << range.low << " " << range.high;
    EXPECT_LE(found.size(), 5u);
    const double slack = 1e-6 * (range.high - range.low);
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_GE(found[i].at, range.low - slack);
      EXPECT_LE(found[i].at, range.high + slack);
      EXPECT_FALSE(found[i].label.empty());
      if (i > 0) {
        EXPECT_GT(found[i].at, found[i - 1].at);
        EXPECT_NE(found[i].label, found[i - 1].label) << range.low << " " << range.high;
      }
    }
  }
}

TEST(AxisRange, AroundTheDataAndNeverEmpty) {
  Panel panel;
  panel.series = {{.x = {1, kNan, 3}, .y = {5, 5, 5}}};
  const Range x = axis_range(panel, panel.x, &Series::x),
              y = axis_range(panel, panel.y, &Series::y);
  EXPECT_LT(x.low, 1);
  EXPECT_GT(x.high, 3);
  EXPECT_LT(y.low, 5);
  EXPECT_GT(y.high, 5);
  panel.series[0].mark = Mark::boxes;
  EXPECT_EQ(axis_range(panel, panel.y, &Series::y).low, 0);
  panel.heat = Heat{.x = {1, 2, 3}, .y = {10}, .value = {1, 2, 3}, .label = ""};
  EXPECT_EQ(axis_range(panel, panel.x, &Series::x).low, 0.5);
  EXPECT_EQ(axis_range(panel, panel.y, &Series::y).high, 10.5);
}

TEST(AxisRange, SharesAreOfTheScale) {
  EXPECT_DOUBLE_EQ(share_of(3, {}, {1, 5}), 0.5);
  EXPECT_DOUBLE_EQ(share_of(10, {.scale = Scale::log}, {1, 100}), 0.5);
  EXPECT_DOUBLE_EQ(share_of(1, {.scale = Scale::power}, {0, 2}), 0.5);
}

}  // namespace
}  // namespace attractor::report
