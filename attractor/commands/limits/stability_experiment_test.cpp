#include "attractor/commands/limits/stability_experiment.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>

#include "attractor/commands/limits/stability_figures.hpp"
#include "attractor/drawing/page_file.hpp"
#include "tests/support/page_test.hpp"
#include "tests/support/refusal.hpp"

namespace attractor::lab {
namespace {

class StabilityExperiment : public PageTest {
 protected:
  Result asked() const { return ask(parameters_, {}); }

  StabilitySetup parameters_;
};

TEST_F(StabilityExperiment, AnswersWithTheNumbersOfTheTheory) {
  parameters_ = {.dynamics = Rule::unnormalised, .beta = 9};
  const Json v = asked().values;
  EXPECT_EQ(v["fastest_mode"], 4);
  EXPECT_NEAR(v["growth"].get<double>() / 770.4297470299, 1, 1e-12);
  EXPECT_NEAR(v["log_growth"].get<double>(), std::log(770.4297470299), 1e-12);
  EXPECT_NEAR(v["critical_noise"].get<double>() / 114.5460802797, 1, 1e-12);
  EXPECT_NEAR(v["log_critical_noise"].get<double>(), std::log(114.5460802797), 1e-12);
  EXPECT_EQ(v["runner_up"], 5);
  EXPECT_NEAR(v["runner_up_ratio"].get<double>(), 0.94276142, 5.1e-9);
  EXPECT_TRUE(v["unstable_modes"].is_null());
  EXPECT_NEAR(v["rule_of_thumb"].get<double>(), std::sqrt(18), 1e-14);
  EXPECT_EQ(v["predicted_clusters"], 4);
  EXPECT_NEAR(v["tricritical_beta"].get<double>(), 2.446918311289, 1e-12);
  EXPECT_GT(v["kde_maxima"], 3);
  EXPECT_EQ(v["growth_rates"][3], v["growth"]);
  EXPECT_FALSE(v.contains("observed_clusters"));
}

TEST_F(StabilityExperiment, ListsTheModesThatMatterOrAreAskedFor) {
  parameters_.beta = 25;
  const Json usual = asked().values["growth_rates"];
  EXPECT_LT(usual.back().get<double>(), 1e-5);
  EXPECT_GT(usual.size(), 7U);
  EXPECT_LT(usual.size(), 60U);
  parameters_.modes = 3;
  EXPECT_EQ(asked().values["growth_rates"].size(), 3U);
  EXPECT_EQ(asked().values["fastest_mode"], 7);
  parameters_.modes = 500;
  EXPECT_EQ(asked().values["growth_rates"].size(), 500U);
  parameters_ = {.beta = 1e6};
  EXPECT_EQ(asked().values["growth_rates"].size(), 200U);
  parameters_ = {.beta = 0};
  EXPECT_EQ(asked().values["growth_rates"], Json({0.5, 0.0, 0.0, 0.0, 0.0}));
}

TEST_F(StabilityExperiment, SaysWhatNoiseLeaves) {
  parameters_ = {.dim = 3, .beta = 2, .noise = 0.27};
  const Result above = asked();
  EXPECT_EQ(above.values["predicted_clusters"], 0);
  EXPECT_EQ(above.values["unstable_modes"], 0);
  EXPECT_LT(above.values["growth"], 0);
  EXPECT_TRUE(above.values["log_growth"].is_null());
  EXPECT_TRUE(above.values["kde_maxima"].is_null());
  EXPECT_TRUE(has(above.headline, "stay uniform")) << above.headline;
  parameters_.noise = 0.26;
  const Result below = asked();
  EXPECT_EQ(below.values["unstable_modes"], 1);
  EXPECT_TRUE(has(below.headline, "degree 1 grows fastest")) << below.headline;
}

TEST_F(StabilityExperiment, OverflowingRatesHaveALogarithm) {
  parameters_ = {.dynamics = Rule::unnormalised, .dim = 10000, .beta = 1e6};
  const Result answer = asked();
  EXPECT_TRUE(answer.values["growth"].is_null());
  EXPECT_NEAR(answer.values["log_growth"].get<double>(),
              971963.61011762713949 + std::log(0.7357613), 1e-6);
  EXPECT_TRUE(has(answer.headline, "e^{971963}")) << answer.headline;
}

TEST_F(StabilityExperiment, CountsClusters) {
  parameters_ = {.beta = 5, .observe = 500, .replicates = 3};
  const Result answer = asked();
  const Json& each = answer.values["observed_per_replicate"];
  ASSERT_EQ(each.size(), 3U);
  double sum = 0;
  for (const Json& count : each) sum += count.get<double>();
  EXPECT_DOUBLE_EQ(answer.values["observed_clusters"].get<double>(), sum / 3);
  EXPECT_EQ(answer.tables.back().name, "observed");
  EXPECT_EQ(answer.tables.back().rows.size(), 3U);
  EXPECT_TRUE(answer.not_delivered.empty());
  EXPECT_EQ(answer.draw().size(), 3U);
  EXPECT_EQ(asked().values, answer.values);
}

TEST_F(StabilityExperiment, CountsAtAGivenTime) {
  parameters_ = {.beta = 5, .observe = 500, .replicates = 2, .time = 1e-3};
  const Result answer = asked();  // long before clusters form: the maxima of the first density
  EXPECT_TRUE(answer.not_delivered.empty());
  EXPECT_TRUE(std::isnan(answer.tables.back().rows[0][2]));
  EXPECT_GT(answer.values["observed_clusters"], 0);
}

TEST_F(StabilityExperiment, SaysWhenNothingHasFormed) {
  parameters_ = {.beta = 5, .observe = 500, .replicates = 2, .horizon = 1};
  const Result answer = asked();
  EXPECT_TRUE(answer.values["observed_clusters"].is_null());
  EXPECT_SAYS(answer.not_delivered, "use a longer horizon");
}

TEST_F(StabilityExperiment, StopsWhenAsked) {
  parameters_ = {.beta = 5, .observe = 1'000'000, .replicates = 1000};
  EXPECT_TRUE(ask(parameters_, {.stop = [] { return true; }}).not_delivered.empty());
}

TEST_F(StabilityExperiment, StopsWithinAnEvaluation) {
  parameters_ = {.beta = 1e6, .observe = 1'000'000};  // one evaluation takes seconds
  std::atomic<int> asked = 0;
  ask(parameters_, {.stop = [&] { return ++asked > 5; }});
  EXPECT_GT(asked, 5);
}

TEST_F(StabilityExperiment, RefusesWhatItCannotDo) {
  const auto says = [&] { return refusal([&] { asked(); }); };
  parameters_ = {.dim = 3, .observe = 100};
  EXPECT_SAYS(says(), "dim = 2");
  parameters_ = {.beta = -3, .observe = 100};
  EXPECT_SAYS(says(), "beta of at least 0, not -3");
  parameters_ = {.noise = 0.1, .observe = 100};
  EXPECT_SAYS(says(), "noise = 0");
  parameters_ = {.time = 1};
  EXPECT_SAYS(says(), "time has no effect without observe");
  parameters_ = {.replicates = 3};
  EXPECT_SAYS(says(), "replicates has no effect without observe");
  parameters_ = {.horizon = 3};
  EXPECT_SAYS(says(), "horizon has no effect without observe");
  parameters_ = {.beta = 9, .observe = 100, .time = 1e300};
  EXPECT_SAYS(says(), "time = 1e+300 is not allowed; allowed: 0 to 1.42e+04");
  parameters_ = {.dynamics = Rule::unnormalised, .beta = 1e4, .observe = 1000, .time = 1};
  EXPECT_SAYS(says(), "0 to e^-9");
  parameters_ = {.beta = 100, .observe = 2};
  EXPECT_SAYS(says(), "observe = 2 is not allowed at beta = 100; allowed: at least 67 tokens");
  parameters_ = {.beta = 6000, .observe = 59};
  EXPECT_SAYS(says(), "at least 546 tokens");
  parameters_ = {.dynamics = Rule::relu};
  EXPECT_EQ(says(), "dynamics = 'relu' is not allowed; allowed: sa, usa");
}

TEST_F(StabilityExperiment, FiguresStayWithinTheirAxes) {
  const StabilitySetup cases[] = {{.beta = 25},
                                  {.beta = 0},
                                  {.dynamics = Rule::unnormalised, .beta = 1000},
                                  {.beta = 2000, .noise = 1e-4},
                                  {.dim = 3, .beta = 2, .noise = 3},
                                  {.beta = 0, .noise = 0.5}};
  for (const StabilitySetup& p : cases) {
    const auto figures = stability_figures(p, {});
    ASSERT_EQ(figures.size(), 2U);
    const report::Panel& rates = figures[0].figure.panels[0];
    EXPECT_LT(rates.y.low, rates.y.high);
    const report::Series& fastest = rates.series.back();
    EXPECT_GE(fastest.y[0], rates.y.low);
    EXPECT_LE(fastest.y[0], rates.y.high);
    EXPECT_LE(fastest.x[0], rates.x.high);
  }
}

TEST_F(StabilityExperiment, WritesAPage) {
  parameters_.beta = 25;
  StabilitySetup usual;
  const Call call{.program = "attractor stability", .now = list(parameters_), .usual = list(usual)};
  const std::string page = written([&] { write_result(asked(), call, 0, directory_); });
  EXPECT_TRUE(has(page, "wave number 7 grows fastest"));
  EXPECT_TRUE(has(page, "attractor stability --beta 25"));
}

}  // namespace
}  // namespace attractor::lab
