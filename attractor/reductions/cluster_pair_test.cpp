#include "attractor/reductions/cluster_pair.hpp"

#include <gtest/gtest.h>

#include <array>
#include <boost/math/special_functions/expint.hpp>
#include <cmath>
#include <numbers>
#include <utility>

#include "attractor/base/error.hpp"
#include "tests/support/relative.hpp"
#include "tests/support/rules.hpp"

namespace attractor::meanfield {
namespace {

using std::numbers::pi;
/// ln T to 1e-13, or to four units in the last place of the exponent where those are more.
double log_tolerance(double log_time) { return 1e-13 + 4e-16 * std::abs(log_time); }
void expect_log(double found, double truth) { EXPECT_NEAR(found, truth, log_tolerance(truth)); }
/// USA merge time of total mass 1 by exponential integrals (theory.md A5).
double usa_closed_form(double c0, double c1, double beta) {
  using boost::math::expint;
  const auto e1 = [](double x) { return expint(1, x); };
  return 0.5 * (std::exp(beta) * (e1(beta * (1 + c0)) - e1(beta * (1 + c1))) +
                std::exp(-beta) * (expint(beta * (1 - c0)) - expint(beta * (1 - c1))));
}
double sa_closed_form(double c0, double c1, double beta) {
  return 0.5 * (std::atanh(c1) - std::atanh(c0)) +
         0.5 * std::exp(beta) * usa_closed_form(c0, c1, beta);
}

struct Row {
  Rule rule;
  double degrees, beta, time;
};

TEST(ClusterPair, TableOfMergeTimes) {
  const Row rows[] = {
      {kSa, 90, 1, 4.271067680309},     {kSa, 90, 4, 10.83120700999},
      {kSa, 90, 9, 466.7106529100},     {kSa, 90, 16, 279981.1600994},
      {kSa, 90, 25, 1444799482.632},    {kSa, 90, 49, 1.947901436997e+19},
      {kUsa, 90, 1, 1.744460101128},    {kUsa, 90, 4, 0.3271578403645},
      {kUsa, 90, 9, 0.1147243584000},   {kUsa, 90, 16, 0.06301502988347},
      {kUsa, 90, 25, 0.04013058816908}, {kUsa, 90, 49, 0.02042524903535},
      {kSa, 60, 4, 4.339218886760},     {kSa, 60, 9, 11.18525138108},
      {kSa, 60, 16, 142.4522232043},    {kSa, 60, 25, 7637.242181796},
      {kSa, 120, 4, 61.32165130367},    {kSa, 120, 9, 48744.78967230},
      {kSa, 120, 16, 1032076120.235},   {kSa, 120, 25, 4.919974195931e+14},
  };
  for (const Row& row : rows)
    EXPECT_RELATIVE(
        merge_time({.rule = row.rule, .beta = row.beta}, PairAngle::of_degrees(row.degrees))
            .value(),
        row.time, 5e-13);
}

TEST(ClusterPair, MassesEnterAsInTheTable) {
  const ClusterPair quarter{.beta = 4, .mass1 = 0.25, .mass2 = 0.75};
  EXPECT_RELATIVE(merge_time(quarter, PairAngle::of_degrees(90)).value(), 8.148917897344, 5e-13);
  const ClusterPair thirds{.beta = 9, .mass1 = 2.0 / 3, .mass2 = 1.0 / 3};
  EXPECT_RELATIVE(merge_time(thirds, PairAngle::of(1.75)).value(), 1827.299962612, 5e-13);
  const ClusterPair even{.beta = 9, .mass1 = 1.0 / 3, .mass2 = 1.0 / 3};
  EXPECT_RELATIVE(merge_time(even, PairAngle::of(0.9)).value(), 6.304034075256, 5e-13);
  const ClusterPair one{.rule = kUsa, .beta = 3, .mass1 = 0.1, .mass2 = 0.3};
  const ClusterPair other{.rule = kUsa, .beta = 3, .mass1 = 0.2, .mass2 = 0.2};
  EXPECT_DOUBLE_EQ(log_merge_time(one, PairAngle::of(2)), log_merge_time(other, PairAngle::of(2)));
}

TEST(ClusterPair, LogTimesAgreeWithMpmath) {
  struct Case {
    ClusterPair pair;
    PairAngle from;
    double log_time;
  };
  const auto of = PairAngle::of;
  const auto degrees = PairAngle::of_degrees;
  const Case cases[] = {
      {{kSa, 49}, degrees(60), 20.232437036109951},
      {{kUsa, 49}, degrees(60), -28.074415785985548},
      {{kSa, 100}, degrees(60), 45.003262020259181},
      {{kSa, 100}, degrees(90), 94.701882854130534},
      {{kSa, 100}, degrees(120), 144.97653877212063},
      {{kUsa, 100}, degrees(60), -54.303590799180874},
      {{kUsa, 100}, degrees(90), -4.6049699653095205},
      {{kUsa, 100}, degrees(120), 45.669685952680571},
      {{kSa, 1000}, degrees(60), 492.68811830786084},
      {{kSa, 1000}, degrees(90), 992.39909954047992},
      {{kSa, 1000}, degrees(120), 1492.6854515850907},
      {{kUsa, 1000}, degrees(60), -506.61873451157922},
      {{kUsa, 1000}, degrees(90), -6.9077532789601364},
      {{kUsa, 1000}, degrees(120), 493.37859876565061},
      {{kSa, 30, 1e-3, 0.5}, of(2), 33.029087660661533},
      {{kSa, 100, 1e-12, 0.9}, of(1.2), 31.782845041351284},
      {{kUsa, 50, 0.2, 0.3}, of(2.5), 37.78685480433207},
      {{kSa, 100, 0.3, 0.1}, of(3), 196.59312790007961},
      {{kSa, 3000, 0.3, 0.1}, of(1), 1370.2284589260112},
      {{kUsa, 1e6, 0.3, 0.1}, of(2), 416134.12749238187},
      {{kSa, 1e6, 0.3, 0.1}, of(1), 459683.01985751666},
      {{kSa, 0.01, 0.3, 0.1}, of(3.1), 2.0415154511359783},
      {{kSa, 1}, PairAngle::of_supplement(1e-8), 4.412281536145846},
      {{kUsa, 20}, PairAngle::of_supplement(1e-8), 22.832837379060678},
      {{kSa, 1e4}, PairAngle::of_supplement(1e-8), 20001.936833460053},
      {{kSa, 1e6}, PairAngle::of_supplement(1e-3), 1999998.0334833989},
      {{kSa, 3}, PairAngle::of_supplement(1e-100), 10.74693852372161},
  };
  for (const Case& c : cases) expect_log(log_merge_time(c.pair, c.from), c.log_time);
}

TEST(ClusterPair, TinyAngles) {
  const std::pair<ClusterPair, double> cases[] = {{{kSa, 1, 0.25, 0.5}, 0.83403244524795579},
                                                  {{kSa, 1e6, 0.25, 0.5}, 0.83403244525273302},
                                                  {{kUsa, 3, 0.25, 0.5}, -1.8782854823002633}};
  const PairAngle from = PairAngle::of(1e-8), to = PairAngle::of(1e-9);
  for (const auto& [pair, truth] : cases) {
    expect_log(log_merge_time(pair, from, to), truth);
    const PairAngle there = angle_after(pair, from, merge_time(pair, from, to));
    EXPECT_RELATIVE(there.angle(), 1e-9, 1e-13);
  }
}

TEST(ClusterPair, ClosedFormsWhereTheyDoNotCancel) {
  for (const double c0 : {-0.9, -0.3, 0.0, 0.2, 0.6})
    for (const double beta : {0.5, 2.0, 7.0, 20.0}) {
      const PairAngle from = PairAngle::of_cosine(c0), to = PairAngle::of_cosine(0.95);
      const double usa = merge_time({.rule = kUsa, .beta = beta}, from, to).value();
      const double sa = merge_time({.beta = beta}, from, to).value();
      EXPECT_RELATIVE(usa, usa_closed_form(c0, 0.95, beta), 3e-13);
      EXPECT_RELATIVE(sa, sa_closed_form(c0, 0.95, beta), 3e-13);
    }
}

TEST(ClusterPair, RatioToTheAsymptoticTime) {
  const PairAngle right = PairAngle::of_degrees(90);
  for (const auto& [beta, ratio] : {std::pair{25.0, 1.003264706}, std::pair{100.0, 1.000200241},
                                    std::pair{400.0, 1.000012501}}) {
    EXPECT_NEAR(ratio_to_asymptotic({.beta = beta}, right), ratio, 1e-9);
    EXPECT_NEAR(log_asymptotic_time({.beta = beta}, right), beta - std::log(2 * beta), 1e-12);
  }
  for (const Rule rule : {kSa, kUsa}) {
    // Order 2 at 90 degrees: 1 + 2/beta^2 + 24/beta^4; one over beta elsewhere, with
    // 2 c/(beta s^2) + (2 + 6 c^2)/(beta s^2)^2.
    for (const double beta : {100.0, 1000.0, 1e4, 1e6})
      EXPECT_NEAR(ratio_to_asymptotic({.rule = rule, .beta = beta}, right),
                  1 + 2 / (beta * beta) + 24 / std::pow(beta, 4), 1e3 / std::pow(beta, 6) + 1e-14);
    for (const double c : {-0.5, 0.5})
      for (const double beta : {100.0, 1000.0, 1e4, 1e6}) {
        const ClusterPair pair{.rule = rule, .beta = beta, .mass1 = 0.2, .mass2 = 0.6};
        const double e = 1 / (beta * 0.75), third = 24 * c * (1 + c * c);
        EXPECT_NEAR(ratio_to_asymptotic(pair, PairAngle::of_cosine(c)),
                    1 + 2 * c * e + (2 + 6 * c * c) * e * e + third * e * e * e,
                    150 * std::pow(e, 4) + 1e-14);
      }
  }
}

TEST(ClusterPair, RatioIsWhatItsNameSays) {
  for (const Rule rule : {kSa, kUsa})
    for (const double beta : {0.3, 5.0, 60.0}) {
      const ClusterPair pair{.rule = rule, .beta = beta, .mass1 = 0.2, .mass2 = 0.6};
      const PairAngle from = PairAngle::of(2);
      const double logs = log_merge_time(pair, from) - log_asymptotic_time(pair, from);
      EXPECT_RELATIVE(ratio_to_asymptotic(pair, from), std::exp(logs), 1e-12);
      EXPECT_DOUBLE_EQ(lifetime_exponent(pair, from), rule == kSa ? 1 - std::cos(2) : -std::cos(2));
    }
}

TEST(ClusterPair, AntipodalPairRestsAndIsLeftAtTheEscapeRate) {
  const std::pair<ClusterPair, double> rates[] = {{{kSa, 1}, 0.2384058440442},
                                                  {{kUsa, 1}, 0.3678794411714},
                                                  {{kSa, 3}, 0.004945246313270},
                                                  {{kUsa, 3}, 0.04978706836786}};
  for (const auto& [pair, rate] : rates) {
    EXPECT_RELATIVE(std::exp(log_escape_rate(pair)), rate, 5e-13);
    const PairAngle antipodal = PairAngle::of(pi);
    EXPECT_TRUE(antipodal.antipodal());
    EXPECT_TRUE(PairAngle::of_degrees(180).antipodal());
    EXPECT_EQ(log_merge_time(pair, antipodal), std::numeric_limits<double>::infinity());
    EXPECT_EQ(log_asymptotic_time(pair, antipodal), std::numeric_limits<double>::infinity());
    EXPECT_TRUE(std::isnan(ratio_to_asymptotic(pair, antipodal)));
    EXPECT_TRUE(angle_after(pair, antipodal, flow::Time(1e9)).antipodal());
    const PairAngle near = PairAngle::of_supplement(1e-8);
    const double time = 2 / rate;
    EXPECT_RELATIVE(angle_after(pair, near, flow::Time(time)).supplement(), 1e-8 * std::exp(2.0),
                    1e-12);
  }
  expect_log(log_escape_rate({.beta = 1e6}), -2e6 + std::numbers::ln2);
}

TEST(ClusterPair, WithoutInteractionTangentsDecay) {
  for (const Rule rule : {kSa, kUsa})
    for (const double angle : {1e-8, 0.5, 2.0, 3.1})
      for (const double time : {1e-6, 1.5, 40.0, 1e4}) {
        const PairAngle from = PairAngle::of(angle);
        const ClusterPair pair{.rule = rule, .beta = 0};
        const PairAngle there = angle_after(pair, from, flow::Time(time));
        EXPECT_NEAR(there.log_tangent, from.log_tangent - time, 1e-14 * (40 + time));
        EXPECT_NEAR(merge_time(pair, from, there).value(), time, 1e-14 * (40 + time));
      }
  const PairAngle there = angle_after({.beta = 0}, PairAngle::of(2), flow::Time(1.5));
  EXPECT_RELATIVE(there.angle(), 0.6689000994797, 1e-12);
}

TEST(ClusterPair, PlaceAndTimeAreInverse) {
  for (const Rule rule : {kSa, kUsa})
    for (const double beta : {0.0, 1e-3, 1.0, 30.0, 1e3, 1e6})
      for (const double angle : {1e-8, 1e-3, 1.0, 2.0, pi - 1e-8})
        for (const double share : {1e-9, 0.01, 0.5, 0.99}) {
          const ClusterPair pair{.rule = rule, .beta = beta, .mass1 = 0.1, .mass2 = 0.6};
          const PairAngle from = PairAngle::of(angle), to = {from.log_tangent - 2};
          const flow::Time all = merge_time(pair, from, to);
          const flow::Time some(share * all.mantissa(), all.exponent());
          const PairAngle there = angle_after(pair, from, some);
          EXPECT_LE(there.log_tangent, from.log_tangent);
          EXPECT_GE(there.log_tangent, to.log_tangent);
          // Rounding of the place itself, in units of the time it takes.
          const flow::Time back = merge_time(pair, from, there);
          const double place = 4e-16 * (1 + std::abs(there.log_tangent));
          EXPECT_NEAR(back.in_unit(all.exponent()), some.mantissa(),
                      place + 1e-13 * some.mantissa())
              << beta << ' ' << angle << ' ' << share;
        }
}

TEST(ClusterPair, SpeedIsTheDerivativeOfTheAngle) {
  for (const Rule rule : {kSa, kUsa})
    for (const double beta : {0.0, 2.0, 12.0}) {
      const ClusterPair pair{.rule = rule, .beta = beta, .mass1 = 0.2, .mass2 = 0.7};
      const PairAngle at = PairAngle::of(1.3);
      const double w = std::exp(beta * std::cos(1.3)), e = std::exp(beta);
      const double plain =
          std::sin(1.3) * w *
          (rule == kUsa ? 0.9 : 0.7 / (0.2 * e + 0.7 * w) + 0.2 / (0.7 * e + 0.2 * w));
      EXPECT_RELATIVE(std::exp(log_speed(pair, at)), plain, 1e-13);
      // Two forward differences, extrapolated: error O(h^2).
      const double h = 1e-4 / plain;
      const auto moved = [&](double time) {
        return 1.3 - angle_after(pair, at, flow::Time(time)).angle();
      };
      EXPECT_RELATIVE((4 * moved(h / 2) - moved(h)) / h, plain, 1e-5);
    }
}

TEST(ClusterPair, AnglesAtBothEnds) {
  for (const double small : {1e-300, 1e-8, 0.3, 1.5}) {
    EXPECT_RELATIVE(PairAngle::of(small).angle(), small, 3e-13);
    EXPECT_RELATIVE(PairAngle::of_supplement(small).supplement(), small, 3e-13);
  }
  EXPECT_RELATIVE(PairAngle::of(1e-8).gap(), 5e-17, 1e-14);
  EXPECT_RELATIVE(PairAngle::of_cosine(0.25).cosine(), 0.25, 1e-15);
  EXPECT_RELATIVE(std::exp(PairAngle::of(2).log_sine()), std::sin(2), 1e-15);
  EXPECT_EQ(PairAngle::of(0).angle(), 0);
  EXPECT_EQ(merge_time({.beta = 5}, PairAngle::of(0.01)).value(), 0);
  EXPECT_EQ(angle_after({.beta = 5}, PairAngle::of(1), flow::Time(0)).log_tangent,
            PairAngle::of(1).log_tangent);
  EXPECT_EQ(angle_after({.beta = 1e6}, PairAngle::of(1), flow::Time(1, 1e9)).angle(), 0);
}

TEST(ClusterPair, RefusesBadInput) {
  const ClusterPair bad[] = {{kSa, -21},       {kSa, 2e6},         {kSa, std::nan("")},
                             {kSa, 1, 0, 0.5}, {kSa, 1, 0.5, -1},  {kUsa, 1, 0.6, 0.6},
                             {kSa, 1, 2, 0.5}, {kSa, 1, 1e-305, 1}};
  for (const ClusterPair& pair : bad) EXPECT_THROW(clock(pair), Error);
  EXPECT_THROW(PairAngle::of(-0.1), Error);
  EXPECT_THROW(PairAngle::of(3.2), Error);
  EXPECT_THROW(PairAngle::of(std::nan("")), Error);
  EXPECT_THROW(PairAngle::of_degrees(181), Error);
  EXPECT_THROW(PairAngle::of_cosine(1.5), Error);
}

}  // namespace
}  // namespace attractor::meanfield
