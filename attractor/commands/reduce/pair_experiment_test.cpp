#include "attractor/commands/reduce/pair_experiment.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "attractor/base/error.hpp"
#include "tests/support/page_test.hpp"
#include "tests/support/refusal.hpp"

namespace attractor::lab {
namespace {

Json values(const PairSetup& p) { return ask(p, {}).values; }

TEST(PairExperiment, AnswersWithTimesOfTheTable) {
  const Json sa = values({.beta = 9, .degrees = 120});
  EXPECT_NEAR(sa["merge_time"].get<double>() / 48744.78967230, 1, 5e-13);
  EXPECT_NEAR(sa["log_merge_time"].get<double>(), std::log(48744.78967230), 5e-13);
  EXPECT_NEAR(sa["log10_merge_time"].get<double>(), std::log10(48744.78967230), 5e-13);
  EXPECT_NEAR(sa["lifetime_exponent"].get<double>(), 1.5, 1e-15);
  EXPECT_NEAR(sa["asymptotic_log_time"].get<double>(), 13.5 - std::log(13.5), 1e-13);
  EXPECT_FALSE(sa.contains("angle"));
  const Json usa = values({.dynamics = Rule::unnormalised, .beta = 3});
  EXPECT_NEAR(usa["escape_rate"].get<double>() / 0.04978706836786, 1, 5e-13);
}

TEST(PairExperiment, NullWhereDoublesEnd) {
  const Json cold = values({.beta = 1000});
  EXPECT_TRUE(cold["merge_time"].is_null());
  EXPECT_TRUE(cold["escape_rate"].is_null());
  EXPECT_NEAR(cold["log_merge_time"].get<double>(), 992.39909954047992, 5e-13);
  EXPECT_NEAR(cold["ratio_to_asymptotic"].get<double>(), 1 + 2e-6 + 24e-12, 1e-14);
  EXPECT_NEAR(cold["log_escape_rate"].get<double>(), -2000 + std::numbers::ln2, 1e-12);
  const Result antipodal = ask({.beta = 1, .degrees = 180}, {});
  EXPECT_TRUE(antipodal.values["log_merge_time"].is_null());
  EXPECT_TRUE(antipodal.values["ratio_to_asymptotic"].is_null());
  EXPECT_NE(antipodal.headline.find("antipodal"), std::string::npos);
  EXPECT_FALSE(antipodal.remarks.empty());
  EXPECT_TRUE(values({.beta = 0})["ratio_to_asymptotic"].is_null());
  EXPECT_EQ(values({.angle = 0.001})["merge_time"], 0);
}

TEST(PairExperiment, AngleAtATime) {
  const Json kuramoto = values({.beta = 0, .angle = 2, .time = 1.5});
  EXPECT_NEAR(kuramoto["angle"].get<double>(), 0.6689000994797, 1e-12);
  EXPECT_NEAR(kuramoto["cosine"].get<double>(), std::cos(0.6689000994797), 1e-12);
  const Json cold = values({.beta = 1000, .log10_time = 400});
  EXPECT_NEAR(cold["angle"].get<double>(), std::numbers::pi / 2, 1e-12);
  EXPECT_EQ(values({.beta = 1000, .log10_time = 500})["angle"], 0);
}

TEST(PairExperiment, SoftmaxKnowsTheRatioOfMassesOnly) {
  const double log_time = values({.mass1 = 0.2, .mass2 = 0.4})["log_merge_time"].get<double>();
  EXPECT_NEAR(values({.mass1 = 0.45, .mass2 = 0.9})["log_merge_time"].get<double>(), log_time,
              1e-13);
  PairSetup p;
  EXPECT_NE(find(list(p), "mass1").help.find("only mass1 / mass2"), std::string::npos);
}

TEST(PairExperiment, RefusesBadInput) {
  const std::pair<PairSetup, const char*> cases[] = {
      {{.angle = 1, .degrees = 60}, "degrees"},
      {{.angle = 4}, "angle = '4'"},
      {{.degrees = -1}, "degrees"},
      {{.time = 1, .log10_time = 0}, "log10-time"},
      {{.time = INFINITY}, "time = 'inf'"},
      {{.time = NAN}, "time = 'nan'"},
      {{.dynamics = Rule::unnormalised, .mass1 = 0.8}, "masses"}};
  for (const auto& c : cases) EXPECT_SAYS(refusal([&] { ask(c.first, {}); }), c.second);
  PairSetup p;
  for (const char* word : {"x", "inf", "nan"})
    for (const std::string name : {"angle", "time"})
      EXPECT_SAYS(refusal([&] { find(list(p), name).set(word); }),
                  name + " = '" + word + "' is not allowed");
}

TEST(PairExperiment, FiguresShowTheWayAndTheFormula) {
  for (const double beta : {0.0, 4.0, 1e6}) {
    const Result answer = ask({.beta = beta, .degrees = 90}, {});
    const std::vector<PageFigure> figures = answer.draw();
    ASSERT_EQ(figures.size(), 2U);
    const report::Series& way = figures[0].figure.panels[0].series[0];
    for (std::size_t k = 0; k < way.x.size(); ++k) {
      EXPECT_TRUE(std::isfinite(way.x[k]) && std::isfinite(way.y[k]));
      if (k == 0) continue;
      EXPECT_GE(way.x[k], way.x[k - 1]);
      EXPECT_LT(way.y[k], way.y[k - 1]);
    }
    EXPECT_NEAR(way.x.back(), answer.values["log10_merge_time"].get<double>(), 1e-9);
    EXPECT_NEAR(way.y.front(), 90, 0.1);
    const report::Panel& lifetime = figures[1].figure.panels[0];
    EXPECT_TRUE(lifetime.series[1].dashed);
    EXPECT_NEAR(lifetime.series[0].y.back(), lifetime.series[1].y.back(), 0.02);
  }
}

}  // namespace
}  // namespace attractor::lab
