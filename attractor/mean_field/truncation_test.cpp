// What modes cut off: the estimate that steers their number, by closed forms and by the modes that
// a finer run finds where the estimate says they are missing.
#include "attractor/mean_field/truncation.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "attractor/flow/run.hpp"
#include "attractor/mean_field/circle_density.hpp"
#include "attractor/mean_field/start_density.hpp"
#include "attractor/mean_field/zonal_density.hpp"
#include "tests/support/moved.hpp"

namespace attractor::meanfield {
namespace {

TEST(Truncation, IsFedAndDamped) {
  for (const double damping : {0.0, 1e-12, 0.7, 50.0}) {
    Truncation t({.give_up_above = 100});
    const double unit = -3;  // times in units of e^-3
    for (int k = 0; k <= 40; ++k) t.meet(flow::Time(0.1 * k, unit), 2.0, damping, unit);
    const double truth = damping > 0 ? -2 / damping * std::expm1(-4 * damping) : 8;
    EXPECT_NEAR(t.largest_missing() / truth, 1, damping > 1e-9 ? 1e-12 : 1e-10) << damping;
    EXPECT_FALSE(t.unresolved());
  }
}

TEST(Truncation, DoublesThenGivesUp) {
  Truncation t({.modes = 8, .max_modes = 20, .double_above = 0.5, .give_up_above = 1.5});
  EXPECT_FALSE(t.meet(flow::Time(0.4), 1, 0, 0));
  EXPECT_TRUE(t.meet(flow::Time(0.6), 1, 0, 0));
  EXPECT_EQ(t.modes(), 16U);
  EXPECT_FALSE(t.meet(flow::Time(1.6), 1, 0, 0));  // 32 are not allowed
  EXPECT_FALSE(t.unresolved());
  EXPECT_FALSE(t.meet(flow::Time(2.2), 1, 0, 0));
  EXPECT_TRUE(t.unresolved());
  ASSERT_EQ(t.doublings().size(), 1U);
  EXPECT_EQ(t.doublings()[0].value(), 0.6);
}

TEST(Truncation, NotANumberIsUnresolved) {
  Truncation t({.modes = 8, .max_modes = 8});
  t.meet(flow::Time(1), std::numeric_limits<double>::quiet_NaN(), 0, 0);
  EXPECT_TRUE(t.unresolved());
}

TEST(Truncation, ATwinHasTwiceTheModesAtAllTimes) {
  Truncation t(twin_of(8, {flow::Time(0.5), flow::Time(0.7)}));
  EXPECT_FALSE(t.watches());
  EXPECT_EQ(t.modes(), 16U);
  EXPECT_FALSE(t.meet(flow::Time(0.4), 1e9, 0, 0));
  EXPECT_TRUE(t.meet(flow::Time(0.6), 1e9, 0, 0));
  EXPECT_TRUE(t.meet(flow::Time(0.8), 1e9, 0, 0));
  EXPECT_FALSE(t.meet(flow::Time(9), 1e9, 0, 0));
  EXPECT_EQ(t.modes(), 64U);
  EXPECT_FALSE(t.unresolved());
}

TEST(Truncation, SeesMissingModesOfAnySymmetry) {
  const std::size_t modes = 16;
  for (const Rule rule : {Rule::softmax, Rule::unnormalised})
    for (const std::size_t fold : {1U, 3U, 6U, 7U, 9U, 13U, 16U})
      for (const double noise : {0.0, 0.01}) {
        const CircleAttention attention{.rule = rule, .beta = 6, .noise = noise};
        const double time = rule == Rule::softmax ? 0.6 : 0.006;
        const CircleLaw law = perturbed_circle(fold, 0.6);
        CircleDensity coarse(attention, {.modes = modes, .max_modes = modes, .give_up_above = 1e9});
        CircleDensity fine(attention, {.modes = 256, .max_modes = 256});
        moved(coarse, coarse.state(law.moments(modes + 1)), time);
        const auto m = moments_of(moved(fine, fine.state(law.moments(257)), time));
        double truth = 0;
        for (std::size_t k = modes + 1; k <= 2 * modes; ++k)
          truth = std::max(truth, std::abs(m[k]));
        const double estimate = coarse.truncation().largest_missing();
        if (fold > 1) {
          EXPECT_GT(truth, 1e-12);
        }
        EXPECT_GT(estimate + 1e-15, 0.3 * truth)
            << name(rule) << " fold " << fold << " noise " << noise;
        EXPECT_LT(estimate, 100 * truth + 1e-15)
            << name(rule) << " fold " << fold << " noise " << noise;
      }
}

TEST(Truncation, SeesMissingDegrees) {
  const std::size_t degrees = 10;
  for (const std::size_t dim : {2U, 3U, 6U})
    for (const std::size_t degree : {1U, 2U, 5U, 9U}) {
      const ZonalAttention attention{.dim = dim, .beta = 6};
      const ZonalLaw law = perturbed_zonal(dim, degree, 0.6);
      const auto start = [&](const ZonalDensity& flow) {
        std::vector<double> c = law.coefficients(flow.degrees() + 1);
        c.erase(c.begin());
        return c;
      };
      ZonalDensity coarse(attention,
                          ModePlan{.modes = degrees, .max_modes = degrees, .give_up_above = 1e9});
      ZonalDensity fine(attention, 96);
      moved(coarse, start(coarse), 0.5);
      const auto c = moved(fine, start(fine), 0.5);
      std::vector<double> at_pole(97);
      Gegenbauer(dim, 97).values(1, at_pole);
      double truth = 0;
      for (std::size_t l = degrees + 1; l <= 2 * degrees; ++l)
        truth = std::max(truth, std::abs(c[l - 1]) / at_pole[l]);
      const double estimate = coarse.truncation().largest_missing();
      EXPECT_GT(truth, 1e-12);
      EXPECT_GT(estimate, 0.3 * truth) << "d " << dim << " degree " << degree;
      EXPECT_LT(estimate, 100 * truth) << "d " << dim << " degree " << degree;
    }
}

TEST(Truncation, IsNothingWhereModesSuffice) {
  CircleDensity flow({.beta = 4}, {.modes = 64, .max_modes = 64});
  moved(flow, flow.state(labelled_map(0.3).moments(65)), 1);
  EXPECT_LT(flow.truncation().largest_missing(), 1e-15);
}

}  // namespace
}  // namespace attractor::meanfield
