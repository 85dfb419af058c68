#include "attractor/commands/reduce/equiangular_experiment.hpp"

#include <cmath>

#include "tests/support/refusal.hpp"
#include "tests/support/result_table.hpp"

namespace attractor::lab {
namespace {

Result answer(EquiangularSetup p) { return ask(p, {}); }

TEST(EquiangularQuestion, CosineOfTheoryA6) {
  const Result a = answer({.tokens = 64, .beta = 4, .time = 3});
  EXPECT_NEAR(a.values["cosine"].get<double>(), 0.424196498305890, 1e-13);
  EXPECT_NEAR(a.values["terminal_constant"].get<double>(), 9.450025737555, 1e-11);
  EXPECT_EQ(a.values["late_law"], "n K exp(-2 t)");
  EXPECT_NEAR(a.values["half_time"].get<double>(), 3.1679441419869443, 1e-12);
  EXPECT_NEAR(a.values["gap"].get<double>(), 1 - 0.424196498305890, 1e-13);
  EXPECT_EQ(a.values["norm"], 1.0);
  EXPECT_TRUE(a.not_delivered.empty());
  EXPECT_TRUE(a.remarks.empty());
}

TEST(EquiangularQuestion, LevelsAreTimes) {
  EquiangularSetup p{.dynamics = Rule::unnormalised, .tokens = 32, .beta = 2};
  p.levels = {0.999, -0.01};
  const Result a = answer(p);
  const Table& levels = table(a, "levels");
  EXPECT_EQ(levels.columns, (std::vector<std::string>{"cosine", "time", "log_time"}));
  EXPECT_NEAR(levels.rows[0][1], 1.880417099555, 1e-11);
  EXPECT_NEAR(levels.rows[0][2], std::log(1.880417099555), 1e-11);
  EXPECT_EQ(levels.rows[1][1], 0) << "passed from the start";
  ASSERT_EQ(a.remarks.size(), 1u);
  EXPECT_SAYS(a.remarks[0], "passed from the start");
  const auto& way = table(a, "curve").rows;
  for (std::size_t k = 1; k < way.size(); ++k) {
    EXPECT_GT(way[k][0], way[k - 1][0]);
    EXPECT_GT(way[k][1], way[k - 1][1]);
  }
}

TEST(EquiangularQuestion, TimeOrItsLogarithm) {
  const Result plain = answer({.norm = Normalisation::pre, .tokens = 8, .beta = 2, .time = 1e4});
  EquiangularSetup p{.norm = Normalisation::pre, .tokens = 8, .beta = 2};
  p.log10_time = 4;
  const Result log = answer(p);
  EXPECT_NEAR(plain.values["gap"].get<double>() / 3.736121717e-8, 1, 2e-10);
  EXPECT_NEAR(log.values["gap"].get<double>() / 3.736121717e-8, 1, 2e-10);
  p.log10_time = 1000;  // w -> K / t^2
  EXPECT_NEAR(answer(p).values["log_gap"].get<double>(),
              std::log(3.734953426363) - 2000 * std::log(10), 1e-9);
}

TEST(EquiangularQuestion, DiscreteLayers) {
  EquiangularSetup p{.norm = Normalisation::mix, .tokens = 8, .beta = 2, .switch_time = 4};
  p.layers = 10;
  const Result a = answer(p);
  EXPECT_NEAR(a.values["cosine"].get<double>(), 0.9941016294072, 1e-12);
  EXPECT_NEAR(a.values["norm"].get<double>(), 6.741374451374, 1e-11);
  const Table& layers = table(a, "layers");
  ASSERT_EQ(layers.rows.size(), 11u);
  const Table& levels = table(a, "levels");
  const auto passed = static_cast<std::size_t>(levels.rows[1][3]);  // 0.9
  EXPECT_GE(layers.rows[passed][1], 0.9);
  EXPECT_LT(layers.rows[passed - 1][1], 0.9);
  EXPECT_TRUE(std::isnan(levels.rows[3][3])) << "0.999 is not passed in ten layers";
}

TEST(EquiangularQuestion, ExtremesHaveAnAnswerWithoutNumbersThatAreNone) {
  using enum Normalisation;
  for (const Normalisation norm : {post, peri, mix, ngpt})
    for (const double tokens : {2.0, 1e30})
      for (const double beta : {0.0, 1e6})
        for (const double start : {-1 / (tokens - 1), 0.0, 0.999999999}) {
          EquiangularSetup p{.norm = norm, .tokens = tokens, .beta = beta, .cosine0 = start};
          for (const double when : {-300.0, 1e299}) {
            p.log10_time = when;
            const Result a = answer(p);
            EXPECT_TRUE(a.values["cosine"].is_number()) << name(norm) << tokens << beta << when;
            EXPECT_FALSE(a.headline.empty());
            EXPECT_LT(a.headline.size(), 300u) << a.headline;
            EXPECT_EQ(a.headline.find("nan"), std::string::npos);
            EXPECT_EQ(a.headline.find("inf"), std::string::npos) << a.headline;
          }
        }
}

/// 1 - cosine far below e^{-1e300}: as a logarithm while that fits a double, null beyond.
TEST(EquiangularQuestion, GapsBeyondEveryDouble) {
  // The way out of the orthogonal start takes T = (1/2) int e^{-beta g} dx = 0.0422... (mpmath).
  const double usa = -2 * std::exp(700) * (1 - 0.04224723035155146);
  const struct {
    EquiangularSetup p;
    double log_gap;  // to leading order
  } cases[] = {{{.dynamics = Rule::unnormalised, .beta = 700, .time = 1}, usa},
               {{.time = 5.1e299}, -1.02e300},
               {{.norm = Normalisation::deepnorm, .time = 1e300}, -2e300},
               {{.norm = Normalisation::ngpt, .time = 1e300, .alpha = 1e6}, -2e306},
               {{.time = 8e307}, -1.6e308}};
  for (const auto& c : cases) {
    const Result a = answer(c.p);
    EXPECT_EQ(a.values["cosine"], 1.0) << c.log_gap;
    EXPECT_NEAR(a.values["log_gap"].get<double>() / c.log_gap, 1, 1e-12);
    EXPECT_EQ(a.values["cosine_by_beta"], 0.0) << c.log_gap;
    EXPECT_TRUE(a.values["log_time_by_beta"].is_number()) << c.log_gap;
  }
  for (const EquiangularSetup& p : {EquiangularSetup{.time = 1e308},
                                    {.dynamics = Rule::unnormalised, .beta = 1000, .time = 1}}) {
    const Result a = answer(p);
    EXPECT_EQ(a.values["cosine"], 1.0);
    EXPECT_TRUE(a.values["log_gap"].is_null());
  }
}

TEST(EquiangularQuestion, StartsWithoutRoom) {
  const double gap = std::ldexp(1.0, -53);
  const Result a = answer({.beta = 0, .cosine0 = 1 - gap, .time = 1, .levels = {0.5}});
  EXPECT_NEAR(a.values["log_gap"].get<double>(), std::log(gap) - 2, 1e-13);
  EXPECT_NEAR(a.values["half_time"].get<double>(), std::log(2) / 2, 1e-13);
  EXPECT_EQ(table(a, "levels").rows[0][1], 0);
  const auto& way = table(a, "curve").rows;
  ASSERT_GT(way.size(), 50u);
  for (const auto& point : way)  // w = w_0 e^{-2t}
    EXPECT_NEAR(std::log(gap) - point[2], 2 * std::exp(point[0]), 1e-12);
}

TEST(EquiangularQuestion, RemarksSayWhatNumbersCannot) {
  const Result simplex = answer({.tokens = 3, .cosine0 = -0.5});
  ASSERT_EQ(simplex.remarks.size(), 1u);
  EXPECT_SAYS(simplex.remarks[0], "simplex");
  EXPECT_FALSE(simplex.draw);
  const Result beyond = answer({.norm = Normalisation::pre, .tokens = 8, .beta = 1000});
  ASSERT_EQ(beyond.remarks.size(), 1u);
  EXPECT_SAYS(beyond.remarks[0], "logarithm exceeds");
  EquiangularSetup sudden{.tokens = 2, .beta = 300};
  // The collapse lasts e^{-290} of the time before it.
  sudden.log10_time = answer(sudden).values["log_half_time"].get<double>() / std::log(10);
  const Result a = answer(sudden);
  ASSERT_EQ(a.remarks.size(), 1u);
  EXPECT_SAYS(a.remarks[0], "last digit of the time decides");
}

TEST(EquiangularQuestion, Figures) {
  for (const Normalisation norm : {Normalisation::post, Normalisation::pre}) {
    const auto figures = answer({.norm = norm, .tokens = 8, .beta = 2, .time = 5}).draw();
    ASSERT_EQ(figures.size(), 2u);
    for (const PageFigure& f : figures) {
      EXPECT_FALSE(f.caption.empty());
      EXPECT_FALSE(f.figure.panels[0].x.label.empty());
      EXPECT_FALSE(f.figure.panels[0].y.label.empty());
    }
    // The late law meets the gap at the end of the picture.
    const auto& series = figures[1].figure.panels[0].series;
    EXPECT_NEAR(series[0].y.back(), series[1].y.back(), 0.02) << name(norm);
  }
}

TEST(EquiangularQuestion, Refusals) {
  const auto says = [](const EquiangularSetup& p) { return refusal([&] { ask(p, {}); }); };
  EXPECT_SAYS(says({.dynamics = Rule::unnormalised, .norm = Normalisation::pre}),
              "usa allows post only");
  EXPECT_SAYS(says({.tokens = 8, .cosine0 = -0.2}), "cosine0 = -0.2");
  EXPECT_SAYS(says({.levels = {0.5, 1}}), "levels holds '1'");
  const auto word = [](const char* log10_time) {
    EquiangularSetup p;
    return refusal([&] { find(list(p), "log10-time").set(log10_time); });
  };
  EXPECT_SAYS(word("1,2"), "log10-time = '1,2' is not allowed");
  EXPECT_EQ(word("1e300"),
            "log10-time = '1e300' is not allowed; allowed: a number from -300 to 1e299");
  EXPECT_EQ(says({.log10_time = 1e300}),
            "log10-time = '1e+300' is not allowed; allowed: a number from -300 to 1e299");
  EXPECT_SAYS(says({.log10_time = 3, .layers = 4}), "log10-time has no effect");
  EXPECT_SAYS(says({.time = 5, .layers = 3}), "time has no effect beside layers = 3");
  EXPECT_SAYS(says({.time = 5, .log10_time = 3}), "time = 5 and log10-time = 3");
  EXPECT_EQ(says({.alpha = 3}), "alpha is used by norm ngpt only, not by norm post");
  EXPECT_SAYS(says({.norm = Normalisation::pre, .switch_time = 3}),
              "norm mix only, not by norm pre");
  EXPECT_SAYS(says({.norm = Normalisation::mix, .deepnorm_scale = 3}), "norm deepnorm only");
  EXPECT_SAYS(says({.step = 2}), "step has no effect without layers");
  EquiangularSetup mix{.norm = Normalisation::mix, .switch_time = 3.5, .layers = 10};
  EXPECT_EQ(says(mix), "switch-time = 3.5 is not a whole number of steps of 1");
  mix.step = 0.1;  // 35 steps, but not in binary; beyond the ten layers anyway
  EXPECT_EQ(says(mix), "");
  mix.layers = 40;
  EXPECT_EQ(says(mix), "");
  EXPECT_SAYS(says({.dynamics = Rule::unnormalised, .layers = 4}), "usa");
  EquiangularSetup p;
  EXPECT_SAYS(refusal([&] { find(list(p), "norm").set("middle"); }), "ln-scaling");
  EXPECT_SAYS(refusal([&] { find(list(p), "tokens").set("1"); }), "2 to 1e+30");
}

}  // namespace
}  // namespace attractor::lab
