#include "attractor/study/study.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "attractor/base/error.hpp"
#include "tests/support/refusal.hpp"

namespace attractor::lab {
namespace {

double value(const std::string& text) { return std::stod(text); }

TEST(StudyTest, AGridIsTheProductOfItsAxes) {
  const Study s = parse_study(R"(
command = "reduce pair"
[fixed]
dynamics = "usa"
[grid]
beta = [1, 2.5, 4]
mass1 = {from = 0.1, to = 0.9, count = 5}
)",
                              "s");
  ASSERT_EQ(s.points(), 15U);
  EXPECT_EQ(s.units(), 15U);
  // The last axis runs fastest; every pair of values occurs once.
  std::set<std::pair<std::string, std::string>> seen;
  for (std::size_t p = 0; p < 15; ++p) seen.insert({s.value(p, 0), s.value(p, 1)});
  EXPECT_EQ(seen.size(), 15U);
  EXPECT_EQ(s.value(0, 0), "1");
  EXPECT_EQ(s.value(7, 0), "2.5");
  EXPECT_NEAR(value(s.value(7, 1)), 0.5, 1e-15);
  EXPECT_EQ(s.value(14, 1), "0.9");
  const Settings settings = s.settings(7, 0);
  ASSERT_EQ(settings.size(), 3U);  // reduce pair has no seed
  EXPECT_EQ(settings[0], (std::pair<std::string, std::string>{"dynamics", "usa"}));
}

TEST(StudyTest, LogSpacingIsGeometric) {
  const Study s =
      parse_study("[grid]\nbeta = {from = 1, to = 1000, count = 4, spacing = \"log\"}\n", "s");
  for (std::size_t k = 0; k < 4; ++k)
    EXPECT_NEAR(value(s.value(k, 0)), std::pow(10.0, static_cast<double>(k)), 1e-12 * 1000);
}

TEST(StudyTest, WholeParametersGetWholeNumbers) {
  const Study s =
      parse_study("[grid]\ntokens = {from = 10, to = 1000, count = 4, spacing = \"log\"}\n", "s");
  EXPECT_EQ(s.axes[0].values, (std::vector<std::string>{"10", "46", "215", "1000"}));
}

TEST(StudyTest, AListGoesSideBySide) {
  const Study s = parse_study("[list]\nbeta = [1, 2]\ndim = [3, 5]\n", "s");
  ASSERT_EQ(s.points(), 2U);
  EXPECT_EQ(s.value(1, 0), "2");
  EXPECT_EQ(s.value(1, 1), "5");
}

TEST(StudyTest, ALatinHypercubeTakesEveryIntervalOnce) {
  const Study s = parse_study(R"(
seed = 7
[latin]
samples = 50
beta = {from = 1, to = 100, spacing = "log"}
step = {from = 0.01, to = 0.5}
)",
                              "s");
  ASSERT_EQ(s.points(), 50U);
  ASSERT_EQ(s.axes.size(), 2U);
  for (const StudyAxis& axis : s.axes) {
    std::set<int> intervals;
    for (const std::string& text : axis.values) {
      const double share = axis.name == "beta" ? std::log(value(text)) / std::log(100.0)
                                               : (value(text) - 0.01) / 0.49;
      intervals.insert(static_cast<int>(share * 50));
    }
    EXPECT_EQ(intervals.size(), 50U) << axis.name;
  }
  EXPECT_NE(s.axes[0].values, parse_study("seed = 8\n[latin]\nsamples = 50\nbeta = {from = 1, to = "
                                          "100, spacing = \"log\"}\n",
                                          "s")
                                  .axes[0]
                                  .values);
}

TEST(StudyTest, EveryReplicateHasItsOwnSeed) {
  Study s = parse_study("replicates = 100\n[grid]\nbeta = [1, 2, 3]\n", "s");
  const auto seed = [&](std::size_t point, std::size_t replicate) {
    return s.settings(point, replicate).back();
  };
  std::set<std::string> seeds;
  for (std::size_t p = 0; p < 3; ++p)
    for (std::size_t r = 0; r < 100; ++r) {
      EXPECT_EQ(seed(p, r).first, "seed");
      seeds.insert(seed(p, r).second);
    }
  EXPECT_EQ(seeds.size(), 300U);
  const std::string other = seed(1, 5).second;
  s.seed = 1;
  EXPECT_NE(seed(1, 5).second, other);
  s.common_seeds = true;
  EXPECT_EQ(seed(0, 5), seed(2, 5));
  EXPECT_NE(seed(0, 5), seed(0, 6));
}

TEST(StudyTest, RefusesWhatHasNoMeaning) {
  const auto refused = [](const char* text) {
    return refusal([&] { parse_study(text, "my.toml"); });
  };
  EXPECT_NE(refused("replicates = [").find("my.toml, line 1"), std::string::npos);
  EXPECT_NE(refused("reps = 3").find("'reps' is no key of a study; allowed: name, command"),
            std::string::npos);
  EXPECT_NE(refused("command = \"dance\"").find("'dance' cannot be swept; allowed: flow"),
            std::string::npos);
  EXPECT_NE(refused("[grid]\nbta = [1]").find("'bta' is no parameter"), std::string::npos);
  EXPECT_NE(refused("[grid]\nbeta = [1, -30]").find("beta = '-30' is not allowed"),
            std::string::npos);
  EXPECT_NE(refused("[grid]\nbeta = []").find("empty list"), std::string::npos);
  EXPECT_NE(refused("[grid]\nbeta = 3").find("beta must be a list or"), std::string::npos);
  EXPECT_NE(refused("[grid]\nbeta = {from = 1, to = 3, count = 1}").find("from 2 to"),
            std::string::npos);
  EXPECT_NE(refused("[grid]\nbeta = [1]\n[list]\ndim = [2]").find("exclude each other"),
            std::string::npos);
  EXPECT_NE(refused("[list]\nbeta = [1]\ndim = [2, 3]").find("equally many"), std::string::npos);
  EXPECT_NE(refused("[fixed]\nbeta = 1\n[grid]\nbeta = [2]").find("given twice"),
            std::string::npos);
  EXPECT_NE(refused("replicates = 2\n[fixed]\nseed = 1").find("would be equal"), std::string::npos);
  EXPECT_NE(refused("replicates = 0").find("from 1 to"), std::string::npos);
  EXPECT_NE(refused("replicates = 1000000\n[grid]\nbeta = [1, 2]").find("too many"),
            std::string::npos);
  EXPECT_NE(refused("[stop]\nmeasure = \"clusters\"").find("half_width"), std::string::npos);
  EXPECT_NE(refused("[[figure]]\nx = \"beta\"").find("figure needs x and y"), std::string::npos);
}

// All that a figure needs and that is known before the first unit; without measures the first unit
// tells what there is.
TEST(StudyTest, RefusesFiguresThatCannotBeDrawn) {
  const auto refused = [](const std::string& text) {
    return refusal([&] { parse_study(text, "my.toml"); });
  };
  const std::string grid = "measure = [\"clusters\"]\n[grid]\nbeta = [1, 2]\n";
  const auto figure = [](const std::string& lines) { return "[[figure]]\n" + lines; };
  EXPECT_NE(refused(grid + figure("x = \"beta\"\ny = \"nonsense\"")).find("'nonsense'"),
            std::string::npos);
  EXPECT_NE(refused(grid + figure("x = \"beta\"\ny = \"beta\"\nz = \"clusters\"\n"
                                  "overlay = [\"energy\"]"))
                .find("'energy'"),
            std::string::npos);
  EXPECT_NE(refused(grid + figure("x = \"clusters\"\ny = \"beta\"\nz = \"clusters\""))
                .find("needs an axis of a grid as x"),
            std::string::npos);
  EXPECT_NE(refused("measure = [\"clusters\"]\n[grid]\nbeta = [2, 1]\n" +
                    figure("x = \"beta\"\ny = \"beta\"\nz = \"clusters\""))
                .find("must ascend"),
            std::string::npos);
  const Study open =
      parse_study("[grid]\nbeta = [1, 2]\n" + figure("x = \"beta\"\ny = \"energy\""), "s");
  EXPECT_EQ(open.measured_by_figures(), (std::vector<std::string>{"energy"}));
}

}  // namespace
}  // namespace attractor::lab
