// Growth rates of the uniform state against the tables of the theory (A4, A10), mpmath, and tokens
// moved by the real engine.
#include "attractor/stability/stability.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "attractor/base/error.hpp"
#include "attractor/depth/attention_flow.hpp"
#include "attractor/flow/run.hpp"
#include "attractor/stability/sphere_spectrum.hpp"
#include "tests/support/rules.hpp"

namespace attractor::meanfield {
namespace {

constexpr double kDigits = 1e-12;  // of numbers printed with 13 digits
Stability of(Rule rule, std::size_t dim, double beta, double noise = 0) {
  return stability({.rule = rule, .dim = dim, .beta = beta, .noise = noise});
}

TEST(Stability, TableOfTheCircle) {
  struct Case {
    double beta;
    std::size_t fastest;
    double sa, usa;
    std::size_t runner_up;
    double ratio;
  };
  const Case cases[] = {{1, 1, 0.4463899658965, 0.5651591039925, 2, 0.96077490},
                        {2, 2, 0.6044506840720, 1.377896895397, 3, 0.69477609},
                        {4, 3, 0.6643888122079, 7.508870501446, 2, 0.85528035},
                        {9, 4, 0.7044970292996, 770.4297470299, 5, 0.94276142},
                        {16, 6, 0.7142674276356, 638159.5389472, 5, 0.98295646},
                        {25, 7, 0.7257965131904, 4191155953.380, 8, 0.96626864},
                        {49, 10, 0.7305287718781, 7.961564389148e19, 9, 0.98403502},
                        {64, 11, 0.7308844931798, 2.277039881558e26, 12, 0.99392649},
                        {81, 13, 0.7319953627780, 4.894443496664e33, 12, 0.99458589},
                        {100, 14, 0.7331761029782, 7.872490922006e41, 15, 0.99279814}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.beta);
    const Stability sa = of(kSa, 2, c.beta), usa = of(kUsa, 2, c.beta);
    for (const Stability& s : {sa, usa}) {
      EXPECT_EQ(s.fastest, c.fastest);
      EXPECT_EQ(s.runner_up, c.runner_up);
      EXPECT_NEAR(s.runner_up_ratio(), c.ratio, 5.1e-9);
      EXPECT_EQ(s.predicted_clusters(), c.fastest);
      EXPECT_EQ(s.unstable, kEveryMode);
    }
    EXPECT_EQ(std::lround(fastest_mode_rule(2, c.beta)), static_cast<long>(c.fastest));
    EXPECT_DOUBLE_EQ(fastest_mode_rule(2, c.beta), std::sqrt(2 * c.beta));
    EXPECT_NEAR(sa.growth(c.fastest) / c.sa, 1, kDigits);
    EXPECT_NEAR(usa.growth(c.fastest) / c.usa, 1, kDigits);
    EXPECT_NEAR(usa.log_growth(c.fastest), std::log(c.usa), 1e-11);
  }
}

TEST(Stability, TableOfSpheres) {  // the rule l (l+d-2) = 2 beta holds in every case
  struct Case {
    std::size_t dim;
    double beta;
    std::size_t fastest;
    double growth;
  };
  const Case cases[] = {
      {3, 1, 1, 0.6260705709987},   {3, 4, 2, 0.6554949557981},   {3, 16, 5, 0.7193166017533},
      {3, 64, 11, 0.7315126022789}, {4, 1, 1, 0.7205811716103},   {4, 4, 2, 0.6839054652813},
      {4, 16, 5, 0.7172141697691},  {4, 64, 10, 0.7305743904118}, {8, 1, 1, 0.8642851990038},
      {8, 4, 1, 0.7426663701035},   {8, 16, 3, 0.7157132898801},  {8, 64, 9, 0.7310506523350},
      {64, 1, 1, 0.9841420637132},  {64, 4, 1, 0.9806734798092},  {64, 16, 1, 0.9308625672427},
      {64, 64, 2, 0.7591391269033}};
  for (const Case& c : cases) {
    SCOPED_TRACE(testing::Message() << "d=" << c.dim << " beta=" << c.beta);
    const Stability s = of(kSa, c.dim, c.beta);
    EXPECT_EQ(s.fastest, c.fastest);
    EXPECT_NEAR(s.growth(s.fastest) / c.growth, 1, kDigits);
    const double root = fastest_mode_rule(c.dim, c.beta), d = static_cast<double>(c.dim);
    EXPECT_NEAR(root * (root + d - 2), 2 * c.beta, 1e-13 * c.beta);
    EXPECT_EQ(std::max(1L, std::lround(root)), static_cast<long>(c.fastest));
  }
}

TEST(Stability, RuleOfThumbGivesTheFastestModeOrTheRunnerUpNextToIt) {
  for (std::size_t dim : {2UL, 3UL, 8UL, 64UL, 1000UL})
    for (double beta = 0.01; beta < 1e4; beta *= 1.07) {
      const Stability s = of(kSa, dim, beta);
      const long rule = std::max(1L, std::lround(fastest_mode_rule(dim, beta)));
      if (rule == static_cast<long>(s.fastest)) continue;
      EXPECT_EQ(rule, static_cast<long>(s.runner_up)) << dim << " " << beta;
      EXPECT_EQ(std::abs(rule - static_cast<long>(s.fastest)), 1) << dim << " " << beta;
    }
}

TEST(Stability, OnTheOrdinarySphere) {
  EXPECT_NEAR(of(kUsa, 3, 4).growth(2) / 4.472100766716, 1, kDigits);
  EXPECT_NEAR(of(kSa, 3, 4).growth(2) / 0.6554949557981, 1, kDigits);
  EXPECT_NEAR(of(kUsa, 3, 9).growth(3) / 298.8791987161, 1, kDigits);
  EXPECT_NEAR(of(kSa, 3, 9).growth(3) / 0.6639232305760, 1, kDigits);
}

TEST(Stability, NoiseMovesTheFastestModeDown) {
  const double critical = of(kUsa, 2, 16).critical_noise();
  const std::pair<double, std::size_t> cases[] = {{0, 6}, {0.1, 5}, {0.3, 4}, {0.6, 3}, {0.9, 1}};
  for (const auto& [share, fastest] : cases)
    EXPECT_EQ(of(kUsa, 2, 16, share * critical).fastest, fastest) << share;
}

TEST(Stability, NoiseQuenchesDegreeOneLast) {
  for (Rule rule : {kSa, kUsa})
    for (std::size_t dim : {2UL, 3UL, 50UL}) {
      const double critical = of(rule, dim, 4).critical_noise();
      const Stability below = of(rule, dim, 4, critical * (1 - 1e-12));
      EXPECT_EQ(below.unstable, 1U);
      EXPECT_EQ(below.fastest, 1U);
      EXPECT_EQ(below.predicted_clusters(), 1U);
      const Stability above = of(rule, dim, 4, critical * (1 + 1e-12));
      EXPECT_EQ(above.unstable, 0U);
      EXPECT_EQ(above.fastest, 1U);
      EXPECT_EQ(above.runner_up, 2U);
      EXPECT_EQ(above.predicted_clusters(), 0U);
      EXPECT_LT(above.growth(1), 0);
      EXPECT_TRUE(std::isnan(above.log_growth(1)));
      EXPECT_TRUE(std::isnan(above.runner_up_ratio()));
    }
}

TEST(Stability, CriticalNoise) {
  struct Case {
    std::size_t dim;
    double beta, usa, sa;
  };
  const Case cases[] = {{2, 1, 0.5651591039925, 0.4463899658965},
                        {2, 2, 0.7953184273187, 0.3488873289820},
                        {2, 4, 2.439866288426, 0.2158806527561},
                        {2, 9, 114.5460802797, 0.1047433248600},
                        {3, 2, 0.4871913717900, 0.2686573603638},
                        {8, 2, 0.1521857099375, 0.1192267079500},
                        {2, 0, 0.5, 0.5},
                        {8, 0, 0.125, 0.125}};
  for (const Case& c : cases) {
    const Stability usa = of(kUsa, c.dim, c.beta), sa = of(kSa, c.dim, c.beta);
    EXPECT_NEAR(usa.critical_noise() / c.usa, 1, kDigits) << c.dim << " " << c.beta;
    EXPECT_NEAR(sa.critical_noise() / c.sa, 1, kDigits) << c.dim << " " << c.beta;
    EXPECT_NEAR(usa.log_critical_noise(), std::log(c.usa), 1e-12);
  }
}

TEST(Stability, TricriticalTemperature) {
  struct Case {
    std::size_t dim;
    double beta, noise;
  };
  const Case cases[] = {{2, 2.44691831128904613, 0.980131788326706955},
                        {3, 1.81615452543588396, 0.457053969938686605},
                        {4, 1.57525715009213033, 0.305875521954360850},
                        {8, 1.26655302452091712, 0.135367525739507550},
                        {16, 1.1289715754831528, 0.0647484045703352085},
                        {64, 1.03149442624724323, 0.0157514385986503701},
                        {1000, 1.00200100000498604, 0.00100050112627184088},
                        {10000, 1.0002000100000005, 0.000100005001125127093}};
  for (const Case& c : cases) {
    const double beta = tricritical_beta(c.dim);
    EXPECT_NEAR(beta / c.beta, 1, 2e-15) << c.dim;
    EXPECT_NEAR(of(kUsa, c.dim, beta).critical_noise() / c.noise, 1, 1e-14) << c.dim;
  }
}

TEST(Stability, ExtremesAreAccurate) {  // mpmath, 40 digits
  struct Case {
    std::size_t dim;
    double beta;
    std::size_t fastest;
    double growth;
    std::size_t runner_up;
    double ratio, critical, log_lambda0;
  };
  const Case cases[] = {{2, 1e6, 1414, 0.735758603568083554, 1415, 0.999999427006245328,
                         9.99999499999875e-7, 999992.17330631281325},
                        {3, 1e6, 1414, 0.735758576715132112, 1413, 0.999999572843089399, 9.99999e-7,
                         999985.49134226147578},
                        {10000, 1e6, 196, 0.735761339255392247, 197, 0.999991682426543917,
                         9.95012994934808165e-7, 971963.61011762713949},
                        {64, 1e5, 417, 0.735755835183816347, 418, 0.999995709837400435,
                         9.99685048037979228e-6, 99735.998891696926218},
                        {2, 1e-6, 1, 0.4999999999999375, 2, 9.99999999999958333e-7,
                         0.4999999999999375, 2.49999999999984375e-13},
                        {10000, 1e-6, 1, 0.9999, 2, 1.9998000599900022e-10, 0.0001, 5e-17},
                        {10000, 1, 1, 0.9998999900029996, 2, 0.00019998000400039952,
                         0.00009999999900019998, 0.000049999999750049993333},
                        {2, 700, 37, 0.7352293773897496, 38, 0.999752477130692186,
                         0.00142755065545489442, 695.80569999844344908},
                        {1000, 3000, 6, 0.739045246702996625, 7, 0.987485183856098494,
                         0.000282414494719201833, 1909.4847015707528633}};
  for (const Case& c : cases) {
    SCOPED_TRACE(testing::Message() << "d=" << c.dim << " beta=" << c.beta);
    const Stability sa = of(kSa, c.dim, c.beta), usa = of(kUsa, c.dim, c.beta);
    EXPECT_EQ(sa.fastest, c.fastest);
    EXPECT_EQ(sa.runner_up, c.runner_up);
    EXPECT_EQ(usa.fastest, c.fastest);
    EXPECT_NEAR(sa.growth(c.fastest) / c.growth, 1, 1e-13);
    EXPECT_NEAR(sa.runner_up_ratio() / c.ratio, 1, 1e-13);
    EXPECT_NEAR(sa.critical_noise() / c.critical, 1, 1e-14);
    const double scale = 1e-15 * (10 + c.beta);
    EXPECT_NEAR(usa.log_growth(c.fastest), std::log(c.growth) + c.log_lambda0, scale);
    EXPECT_NEAR(usa.log_critical_noise(), std::log(c.critical) + c.log_lambda0, scale);
    EXPECT_EQ(std::isfinite(usa.growth(c.fastest)), c.log_lambda0 < 709);
  }
}

// x e^{-x/2} at x = k^2/beta is at most 0.18/beta below its maximum 2/e for a whole k, and Debye's
// next term takes (1/3)/beta of it: together 0.43/beta.
TEST(Stability, GrowthTendsToTwoOverE) {
  for (double beta : {1e2, 1e3, 1e4, 1e5, 1e6}) {
    const Stability s = of(kSa, 2, beta);
    EXPECT_NEAR(s.growth(s.fastest), 2 / std::numbers::e, 0.43 / beta) << beta;
  }
}

TEST(Stability, WithoutTemperatureOnlyDegreeOneGrows) {
  for (Rule rule : {kSa, kUsa}) {
    const Stability s = of(rule, 5, 0);
    EXPECT_EQ(s.fastest, 1U);
    EXPECT_EQ(s.unstable, 1U);
    EXPECT_DOUBLE_EQ(s.growth(1), 4.0 / 5);
    EXPECT_EQ(s.growth(2), 0);
    EXPECT_EQ(s.runner_up_ratio(), 0);
    EXPECT_EQ(fastest_mode_rule(5, 0), 0);
  }
}

TEST(Stability, UnstableModesAreThoseAboveTheNoise) {
  for (Rule rule : {kSa, kUsa})
    for (std::size_t dim : {2UL, 7UL})
      for (double beta : {1e-3, 3.0, 40.0, 500.0})
        for (double share : {1e-30, 1e-8, 0.02, 0.7}) {
          const double noise = share * of(rule, dim, beta).critical_noise();
          const Stability s =
              stability({.rule = rule, .dim = dim, .beta = beta, .noise = noise}, 400);
          std::size_t positive = 0;
          for (double rate : s.rate) positive += rate > 0;
          EXPECT_EQ(s.unstable, positive) << name(rule) << dim << " " << beta << " " << share;
        }
}

// USA at beta = 10^4 lifts modes above noise 1 whose eigenvalue relative to lambda_0 underflows.
TEST(Stability, UnstableModesBeyondTheRangeOfDoubles) {  // I_k(beta)/beta = 1, mpmath
  EXPECT_EQ(of(kUsa, 2, 1e4, 1).unstable, 15076U);
  EXPECT_EQ(of(kUsa, 3, 5000, 1e-10).unstable, 7548U);
  EXPECT_EQ(of(kSa, 2, 1e4, 1e-320).unstable, 3837U);
  EXPECT_EQ(of(kUsa, 10000, 1e6, 1).unstable, 1480381U);
}

TEST(Stability, EquispacedTokens) {  // aliased sums, mpmath
  struct Case {
    std::size_t tokens, mode;
    double beta, usa, sa;
  };
  const Case cases[] = {{12, 4, 9, 980.2455137125193, 0.89532026553074565},
                        {12, 1, 9, 123.39213922581333, 0.11270185000659083},
                        {12, 6, 9, 1122.4314813323045, 1.0251877084348776},
                        {5, 2, 3, 4.4418929285914247, 0.87728193932881425}};
  for (const Case& c : cases) {
    const double lambda0 = sphere_spectrum(2, c.beta, 1).lambda0();
    EXPECT_NEAR(equispaced_rates(kUsa, c.beta, c.tokens)[c.mode] * lambda0 / c.usa, 1, 1e-13);
    EXPECT_NEAR(equispaced_rates(kSa, c.beta, c.tokens)[c.mode] / c.sa, 1, 1e-13);
  }
  const Stability s = of(kSa, 2, 20);  // many tokens are the mean field
  const auto rates = equispaced_rates(kSa, 20, 1000);
  ASSERT_EQ(rates.size(), 501U);
  EXPECT_EQ(rates[0], 0);
  for (std::size_t k = 1; k < s.rate.size(); ++k) EXPECT_NEAR(rates[k], s.rate[k], 1e-15);
  EXPECT_EQ(equispaced_rates(kSa, 20, 1).size(), 1U);
}

TEST(Stability, MaximaOfTheFirstDensity) {
  const std::pair<double, double> cases[] = {{16, 4.887133682935},     {49, 8.566090098864},
                                             {100, 12.24240226948},    {5, 2.72146831920336932},
                                             {7, 3.22438807998091847}, {1e-6, 1.000000000000375},
                                             {1e4, 122.4739768851457}, {1e6, 1224.74482036060909}};
  for (const auto& [beta, maxima] : cases)
    EXPECT_NEAR(expected_density_maxima(beta) / maxima, 1, kDigits) << beta;
  EXPECT_EQ(expected_density_maxima(0), 1);
  for (double beta : {5.0, 25.0, 100.0})  // growth leaves the fastest mode only
    EXPECT_NEAR(expected_density_maxima(beta, 1e4), static_cast<double>(of(kSa, 2, beta).fastest),
                1e-12)
        << beta;
}

/// ln of the growth of a displacement cos(k theta) of equispaced tokens over `time`.
double measured(Rule rule, double beta, std::size_t tokens, std::size_t mode, double time) {
  const double amplitude = 1e-6;
  std::vector<double> angles(tokens), state(2 * tokens);
  for (std::size_t i = 0; i < tokens; ++i) {
    angles[i] = 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(tokens);
    const double moved = angles[i] + amplitude * std::cos(static_cast<double>(mode) * angles[i]);
    state[2 * i] = std::cos(moved);
    state[2 * i + 1] = std::sin(moved);
  }
  depth::AttentionFlow flow({.rule = rule, .beta = beta, .dim = 2}, tokens, 0);
  flow::Progress progress{.state = state};
  EXPECT_EQ(flow::run(flow, flow::dormand_prince(), {.end = flow::Time(time), .tolerance = 1e-14},
                      progress, {}),
            flow::Status::complete);
  double displacement = 0, norm = 0;
  for (std::size_t i = 0; i < tokens; ++i) {
    const double c = std::cos(angles[i]), s = std::sin(angles[i]);
    const double x = progress.state[2 * i], y = progress.state[2 * i + 1];
    const double shape = std::cos(static_cast<double>(mode) * angles[i]);
    displacement += shape * std::atan2(c * y - s * x, c * x + s * y);
    norm += shape * shape;
  }
  return std::log(displacement / norm / amplitude);
}

TEST(Stability, TokensGrowAtTheLinearRate) {
  struct Case {
    Rule rule;
    double beta;
    std::size_t mode;
  };
  const Case cases[] = {{kSa, 1, 1}, {kSa, 9, 4}, {kSa, 49, 10}, {kSa, 49, 3}, {kUsa, 4, 3}};
  for (const Case& c : cases) {
    const double growth = of(c.rule, 2, c.beta).growth(c.mode);
    EXPECT_NEAR(measured(c.rule, c.beta, 512, c.mode, 1 / growth), 1, 1e-6)
        << name(c.rule) << " beta=" << c.beta << " k=" << c.mode;
  }
}

TEST(Stability, FewTokensGrowAtTheAliasedRate) {
  for (Rule rule : {kSa, kUsa})
    for (std::size_t mode : {1UL, 4UL, 6UL}) {
      const double unit = of(rule, 2, 9).log_unit;
      const double growth = equispaced_rates(rule, 9, 12)[mode] * std::exp(unit);
      EXPECT_NEAR(measured(rule, 9, 12, mode, 1 / growth), 1, 1e-6) << name(rule) << " " << mode;
    }
}

TEST(Stability, RefusesBadInput) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_THROW(of(kSa, 1, 1), Error);
  EXPECT_THROW(of(kSa, 10001, 1), Error);
  for (double beta : {-1.1e6, 1.1e6, nan, infinity}) EXPECT_THROW(of(kSa, 2, beta), Error) << beta;
  for (double noise : {-1e-9, nan, infinity}) EXPECT_THROW(of(kSa, 2, 1, noise), Error) << noise;
  EXPECT_THROW(tricritical_beta(1), Error);
  EXPECT_THROW(equispaced_rates(kSa, 1, 0), Error);
  EXPECT_THROW(expected_density_maxima(-2e6), Error);
  EXPECT_THROW(expected_density_maxima(1, -1), Error);
}

}  // namespace
}  // namespace attractor::meanfield
