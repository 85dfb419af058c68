#include "apps/progress_bar.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "attractor/lab/wrap.hpp"
#include "tests/support/refusal.hpp"

namespace attractor::apps {
namespace {

using lab::columns;

TEST(BarLine, FitsEveryTerminal) {
  const std::string note =
      "t = 1.5821e+30, 64 distinct tokens, 2281 steps of a run with a long note";
  for (std::size_t width = 1; width <= 220; ++width)
    for (const double fraction : {-1.0, 0.0, 0.004, 0.42, 1.0, 1.5}) {
      const std::string line = bar_line(fraction, 7200, 123456, note, width);
      EXPECT_LE(columns(line), std::max<std::size_t>(width, 3) - 3) << line;
      EXPECT_EQ(line.find('\n'), line.npos);
    }
}

TEST(BarLine, SaysWhatTheWidthAllows) {
  EXPECT_EQ(bar_line(0.42, 9, 12.4, "unit 3", 60),
            "[========            ]  42 %  12 s left  unit 3");
  EXPECT_EQ(bar_line(0.5, 9, {}, "", 200), "[===============               ]  50 %");
  EXPECT_EQ(bar_line(-1, 90, {}, "t = 3", 80), "90 s elapsed  t = 3");
  EXPECT_EQ(bar_line(-1, 900, {}, "t = 3", 80), "15 min elapsed  t = 3");
  EXPECT_EQ(bar_line(0.5, 9, 7200.0, "a long note about tokens", 49),
            "[========        ]  50 %  2.0 h left  a long …");
  EXPECT_EQ(bar_line(0.5, 9, 7200.0, "a long note about tokens", 40),
            "[======       ]  50 %  2.0 h left");
}

TEST(Pace, CountsOnlyWhatThisProcessDid) {
  Pace fresh;
  fresh.at(0, 0);
  EXPECT_FALSE(fresh.left());
  fresh.at(0.25, 10);
  EXPECT_DOUBLE_EQ(*fresh.left(), 30);

  Pace resumed;  // another process did the first 80 %
  resumed.at(0.8, 1);
  EXPECT_FALSE(resumed.left());
  resumed.at(0.9, 11);
  EXPECT_DOUBLE_EQ(*resumed.left(), 10);
  resumed.at(1, 21);
  EXPECT_DOUBLE_EQ(*resumed.left(), 0);
}

TEST(Pace, BeginsAnewWithANewStretch) {
  Pace pace;
  pace.at(0, 0);
  pace.at(0.9, 90);
  pace.at(0.1, 100);  // the second of two tasks
  EXPECT_FALSE(pace.left());
  pace.at(0.2, 110);
  EXPECT_DOUBLE_EQ(*pace.left(), 80);
  pace.at(-1, 120);  // the end is not known
  EXPECT_FALSE(pace.left());
}

}  // namespace
}  // namespace attractor::apps
