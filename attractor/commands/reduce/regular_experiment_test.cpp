#include "attractor/commands/reduce/regular_experiment.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "attractor/base/error.hpp"
#include "tests/support/page_test.hpp"
#include "tests/support/refusal.hpp"

namespace attractor::lab {
namespace {

Json values(const RegularSetup& p) { return ask(p, {}).values; }

TEST(RegularExperiment, PolygonOfThreeByHand) {
  // f'(120 degrees) = -(1/2 + 3 beta/4) e^{-beta/2}, two neighbours, cos - 1 = -3/2.
  const double beta = 5, pull = 3 * (0.5 + 0.75 * beta) * std::exp(-beta / 2);
  const Json sa = values({.beta = beta, .count = 3});
  EXPECT_NEAR(
      sa["growth_rates"][1].get<double>() / (pull / (std::exp(beta) + 2 * std::exp(-beta / 2))), 1,
      1e-13);
  EXPECT_EQ(sa["growth_rates"][0], 0);
  EXPECT_EQ(sa["fastest_mode"], 1);
  EXPECT_NEAR(sa["log_efolding_time"].get<double>(), -std::log(sa["growth_rates"][1].get<double>()),
              1e-13);
  const Json usa = values({.dynamics = Rule::unnormalised, .beta = beta, .count = 3});
  EXPECT_NEAR(usa["growth_rates"][1].get<double>() / (pull / 3), 1, 1e-13);
}

TEST(RegularExperiment, LogarithmsWhereDoublesEnd) {
  const Json cold = values({.beta = 1000, .count = 4});
  EXPECT_TRUE(cold["growth_rates"][2].is_null());
  EXPECT_TRUE(cold["lifetime"].is_null());
  EXPECT_EQ(cold["fastest_mode"], 2);
  EXPECT_NEAR(cold["log_lifetime"].get<double>(), 992.39909954047992, 5e-13);
  EXPECT_NEAR(cold["log_growth_rates"][2].get<double>(), std::log(4000) - 1000, 1e-12);
  EXPECT_NEAR(cold["asymptotic_log_lifetime"].get<double>(), 1000 - std::log(2000), 1e-12);
  const Result two = ask({.beta = 3, .count = 2}, {});
  EXPECT_NEAR(two.values["growth_rates"][1].get<double>() / 0.004945246313270, 1, 5e-13);
  EXPECT_TRUE(two.values["log_lifetime"].is_null());
  EXPECT_EQ(two.remarks.size(), 1U);
}

TEST(RegularExperiment, SimplexAndEquiangular) {
  const Json tetrahedron = values({.beta = 2, .count = 4, .shape = Shape::simplex});
  EXPECT_EQ(tetrahedron["growth_rates"].size(), 4U);
  EXPECT_EQ(tetrahedron["fastest_mode"], "parting");
  EXPECT_NEAR(tetrahedron["neighbour_angle"].get<double>(), std::acos(-1.0 / 3), 1e-14);
  EXPECT_FALSE(tetrahedron.contains("time"));
  const Json way = values({.beta = 8, .count = 32, .shape = Shape::simplex, .cosine = 0});
  EXPECT_NEAR(way["time"].get<double>() / 73.44567591095, 1, 5e-13);
}

TEST(RegularExperiment, Ring) {
  // Two clusters at polar angle theta are a pair at 2 theta.
  const Json two = values({.beta = 9,
                           .count = 2,
                           .shape = Shape::ring,
                           .polar = std::numbers::pi / 4,
                           .to_polar = 0.5 * std::acos(0.999)});
  EXPECT_NEAR(two["time"].get<double>() / 466.7106529100, 1, 1e-11);
  EXPECT_NEAR(two["lifetime"].get<double>() / 466.7106529100, 1, 5e-13);
  const Result equator =
      ask({.beta = 2, .count = 5, .shape = Shape::ring, .polar = std::numbers::pi / 2}, {});
  EXPECT_TRUE(equator.values["log_time"].is_null());
  EXPECT_FALSE(equator.remarks.empty());
}

TEST(RegularExperiment, BelowZeroPolygonsOfOddCountAreStable) {
  const Result stable = ask({.beta = -3, .count = 5}, {}),
               not_yet = ask({.beta = -2, .count = 5}, {});
  EXPECT_SAYS(stable.headline, "stable");
  EXPECT_TRUE(stable.values["efolding_time"].is_null() || stable.values["efolding_time"] == "inf");
  EXPECT_SAYS(not_yet.headline, "grows fastest");
  EXPECT_EQ(stable.draw().size(), 2u);
}

TEST(RegularExperiment, RefusesBadInput) {
  const std::pair<RegularSetup, const char*> cases[] = {
      {{.count = 1}, "count = '1'"},
      {{.dim = 3}, "shape simplex"},
      {{.polar = 1}, "polar is used by shape ring only, not by shape polygon"},
      {{.shape = Shape::simplex, .to_polar = 1}, "to-polar is used by shape ring only"},
      {{.shape = Shape::ring, .cosine = 0.5}, "shape simplex"},
      {{.count = 6, .shape = Shape::simplex, .dim = 4}, "dim = 4"},
      {{.count = 6, .shape = Shape::simplex, .dim = 5, .cosine = 0.1}, "dim = 5"},
      {{.count = 6, .shape = Shape::simplex, .cosine = -0.5}, "cosine = -0.5"},
      {{.count = 6, .shape = Shape::simplex, .cosine = NAN}, "cosine = 'nan'"}};
  for (const auto& c : cases) EXPECT_SAYS(refusal([&] { ask(c.first, {}); }), c.second);
  RegularSetup p;
  EXPECT_SAYS(refusal([&] { find(list(p), "cosine").set("x"); }), "cosine = 'x'");
}

TEST(RegularExperiment, FiguresForEveryShape) {
  for (const Shape shape : every<Shape>())
    for (const double beta : {0.0, 9.0, 1e6}) {
      const std::vector<PageFigure> figures =
          ask({.beta = beta, .count = 6, .shape = shape}, {}).draw();
      ASSERT_EQ(figures.size(), 2U);
      for (const PageFigure& f : figures)
        for (const report::Series& series : f.figure.panels[0].series) {
          ASSERT_FALSE(series.x.empty());
          for (std::size_t k = 0; k < series.x.size(); ++k)
            EXPECT_TRUE(std::isfinite(series.x[k]) && std::isfinite(series.y[k]))
                << name(shape) << beta;
        }
    }
}

}  // namespace
}  // namespace attractor::lab
