// Truth: cosine and length of n equiangular tokens integrated as they stand,
//   g' = 2 p (1 - g) (1 + (n-1) g) / (r |A|),   r' = <theta, A> / |A|,   logits beta r^2 cos,
// with 25 digits (mpmath's Taylor series); and the law of u = r^2 w near consensus.
#include "attractor/reductions/equiangular_lengths.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/refusal.hpp"

namespace attractor::meanfield {
namespace {

struct Lengths {
  EquiangularCurve curve;
  double start;
  LengthClock clock;

  Lengths(double tokens, double beta, double cosine)
      : curve{tokens, beta}, start(curve.position(cosine)), clock(curve, start) {}
  double cosine(double time) const { return curve.cosine(start + clock.moved(std::log(time))); }
  double norm(double time) const { return std::exp(clock.log_norm(std::log(time))); }
};

TEST(LengthClock, AgainstTheEquationsWith25Digits) {
  const struct {
    double tokens, beta, cosine0, time, cosine, norm;
  } cases[] = {{8, 2, 0, 1, 0.06193622356007545, 1.991112603583074},
               {8, 2, 0, 5, 0.06203117094862941, 5.991112497806918},
               {8, 2, 0, 20, 0.06203117094862941, 20.99111249780692},
               {64, 0.5, 0, 1, 0.5440183481474793, 1.514875621482764},
               {64, 0.5, 0, 5, 0.9604249973075763, 5.227419278670391},
               {64, 0.5, 0, 20, 0.9972533908820946, 20.1518371767853},
               {5, 0.25, 0.3, 2, 0.8988812866060577, 2.777548062624264},
               {5, 0.25, 0.3, 10, 0.9922949283820483, 10.69567571046236}};
  for (const auto& c : cases) {
    const Lengths l(c.tokens, c.beta, c.cosine0);
    EXPECT_NEAR(l.cosine(c.time), c.cosine, 1e-14) << c.tokens << " " << c.time;
    EXPECT_NEAR(l.norm(c.time) / c.norm, 1, 3e-14) << c.tokens << " " << c.time;
  }
}

TEST(LengthClock, EarlyTimesKeepTheirDigits) {
  // x moves by 2n t / sqrt(E^2 + 2 E s + n s) at first; there E = e^2 - 1, s = 1.
  const Lengths l(8, 2, 0);
  const double e = std::expm1(2.0), rate = 16 / std::sqrt(e * e + 2 * e + 8);
  for (const double t : {1e-250, 1e-40, 1e-12})
    EXPECT_NEAR(l.clock.moved(std::log(t)) / (rate * t), 1, 1e-11) << t;
}

TEST(LengthClock, ThereAndBack) {
  for (const auto& [n, beta] : {std::pair{8.0, 0.2}, {64.0, 0.5}, {1e6, 3.0}, {1e30, 1.0}}) {
    const Lengths l(n, beta, 0.01);
    for (const double t : {1e-9, 0.3, 2.0, 5.0, 40.0}) {
      const double moved = l.clock.moved(std::log(t));
      EXPECT_NEAR(l.clock.log_time(moved), std::log(t), 2e-13) << n << " " << t;
    }
  }
}

TEST(LengthClock, TokensStopTurningAboveZero) {
  const Lengths l(8, 2, 0);
  const double stop = l.clock.limit();
  EXPECT_NEAR(l.curve.gap(l.start + stop), 0.9379688290513706, 1e-14);
  EXPECT_EQ(l.clock.moved(std::log(1e9)), stop);
  EXPECT_TRUE(std::isinf(l.clock.log_time(stop)));
  EXPECT_NEAR(l.norm(1e4) - 1e4, 0.991112497806917, 1e-10);  // r - t stays
  EXPECT_NEAR(l.clock.log_norm(1e5), 1e5, 1e-9);
}

// 1/u falls by 2 beta / n for each unit of ln r while u is small (to first order in beta u).
TEST(LengthClock, LateLawOfManyTokens) {
  const Lengths l(1e4, 0.01, 0);
  const auto inverse_u = [&](double log_time) {
    const double log_gap = l.curve.log_gap(l.start + l.clock.moved(log_time));
    return std::exp(-2 * l.clock.log_norm(log_time) - log_gap);
  };
  const double fall = (inverse_u(50) - inverse_u(1050)) / 1000;
  EXPECT_NEAR(fall / (2 * 0.01 / 1e4), 1, 0.02);
  EXPECT_SAYS(refusal([&] { l.clock.moved(2e4); }), "ln t = 20000 is not allowed");
}

}  // namespace
}  // namespace attractor::meanfield
