#include "attractor/reductions/equiangular.hpp"

#include <algorithm>
#include <boost/math/special_functions/expint.hpp>
#include <limits>
#include <numbers>
#include <utility>
#include <vector>

#include "attractor/base/numbers.hpp"
#include "tests/support/equiangular_state.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/relative.hpp"
#include "tests/support/rules.hpp"

namespace attractor::meanfield {
namespace {

using N = Normalisation;

// ---- Truths that share nothing with the quadrature.

/// Time to the gap w by exponential integrals (theory A6).
double closed_form_time(const Equiangular& e, double w) {
  using boost::math::expint;
  const double n = e.tokens, b = e.beta, a = 1 / (n - 1), w0 = 1 - e.cosine0;
  const auto log_ratio = [&](double v) { return std::log((n - (n - 1) * v) / v); };
  const double ei = expint(b * w0) - expint(b * w);
  const double e1 = expint(1, b * (1 - w0 + a)) - expint(1, b * (1 - w + a));
  if (e.rule == kUsa) return (std::exp(-b) * ei + std::exp(b * a) * e1) / 2;
  return ((n - 1) * (log_ratio(w) - log_ratio(w0)) + ei + std::exp(b * (1 + a)) * e1) / (2 * n);
}

// ---- Theory A6.

struct CosineCase {
  double tokens, beta, cosine0, sa_time, sa, usa_time, usa;
};

TEST(EquiangularReduction, CosinesOfTheoryA6) {
  const std::vector<CosineCase> cases = {
      {2, 1, 0, 1, 0.579195336911065, 0.5, 0.588061883760116},
      {4, 1, 0, 1, 0.479486782185420, 1, 0.832087876468885},
      {8, 1, 0, 2, 0.816342358568763, 1, 0.600585065136073},
      {8, 4, 0, 5, 0.616837375839616, 0.5, 0.369686580077663},
      {16, 2, 0, 2, 0.599545694786993, 0.8, 0.277810074435709},
      {32, 1, 0, 3, 0.914207011654176, 2, 0.894673749151390},
      {64, 4, 0, 3, 0.424196498305890, 0.4, 0.0197298066987751},
      {128, 0, 0, 2, 0.295147004654848, 2, 0.295147004654848},
      {1000, 5, 0, 3, 0.169619520169067, 0.5, 0.00172512889526127},
      {16, 2, 0.3, 1, 0.746782843645001, 0.25, 0.617803761876330},
      {8, 4, -0.1, 2, -0.0816381448787526, 0.5, -0.0580262332002084}};
  for (const CosineCase& c : cases) {
    SCOPED_TRACE(testing::Message() << "n = " << c.tokens << ", beta = " << c.beta);
    Equiangular e{.tokens = c.tokens, .beta = c.beta, .cosine0 = c.cosine0};
    EXPECT_RELATIVE(state(e, c.sa_time).cosine, c.sa, 1e-12);
    e.rule = kUsa;
    EXPECT_RELATIVE(state(e, c.usa_time).cosine, c.usa, 1e-12);
  }
}

TEST(EquiangularReduction, TerminalConstantsOfTheoryA6) {
  const struct {
    double tokens, beta, constant;
  } cases[] = {{4, 1, 1.909813788678},   {8, 1, 1.533149777739},  {8, 2, 3.734953426363},
               {8, 4, 2310.174914114},   {32, 2, 1.723449774766}, {64, 4, 9.450025737555},
               {1000, 5, 2.086955375969}};
  for (const auto& c : cases)
    EXPECT_RELATIVE(std::exp(log_terminal_constant(c.tokens, c.beta)), c.constant, 1e-12);
  EXPECT_EQ(log_terminal_constant(7, 0), 0);
  // mpmath, 80 digits.
  EXPECT_RELATIVE(log_terminal_constant(8, 20), 19739196.667259473, 1e-13);
  EXPECT_RELATIVE(log_terminal_constant(1e30, 80), 3553254.92351799, 1e-12);
  EXPECT_RELATIVE(log_terminal_constant(2, 600), 6.2884021047543326e257, 1e-12);
  EXPECT_EQ(log_terminal_constant(2, 1e6), kInfinity);
}

TEST(EquiangularReduction, PhaseDiagramOfTheoryA6) {
  const struct {
    double beta, sa, usa;
  } cases[] = {{0, 5.186260981120, 5.186260981120},  {1, 5.270283907586, 2.897048622990},
               {2, 5.458393682898, 1.880417099555},  {3, 5.897609345690, 1.391519119167},
               {4, 6.953501848808, 1.130770341296},  {5, 9.544329203520, 0.9746065980440},
               {6, 15.99531354920, 0.8702302582826}, {8, 73.44567591095, 0.7344912435041}};
  for (const auto& c : cases) {
    Equiangular e{.tokens = 32, .beta = c.beta};
    EXPECT_RELATIVE(EquiangularFlow(e).arrival(0.999).time(), c.sa, 1e-12);
    e.rule = kUsa;
    EXPECT_RELATIVE(EquiangularFlow(e).arrival(0.999).time(), c.usa, 1e-12);
  }
}

TEST(EquiangularReduction, HalfCollapseTimes) {
  const struct {
    double tokens, beta, sa, usa;
  } cases[] = {{8, 1, 1.2648254740965817, 0.8933281849853163},
               {64, 4, 3.1679441419869443, 1.3050849899162485},
               {1000, 5, 3.8180256793730839, 2.4735183141772904},
               {1000, 9, 20.87801540967818, 2.1506740585648587}};
  for (const auto& c : cases) {
    Equiangular e{.tokens = c.tokens, .beta = c.beta};
    EXPECT_RELATIVE(EquiangularFlow(e).half_collapse().time(), c.sa, 1e-13);
    e.rule = kUsa;
    EXPECT_RELATIVE(EquiangularFlow(e).half_collapse().time(), c.usa, 1e-13);
  }
}

TEST(EquiangularReduction, ExponentialIntegralsGiveTheSameTimes) {
  for (const Rule rule : {kSa, kUsa})
    for (const double n : {2.0, 5.5, 40.0})
      for (const double beta : {0.5, 2.0, 6.0})
        for (const double start : {-0.02, 0.0, 0.4})
          for (const double level : {0.5, 0.75, 0.9}) {
            const Equiangular e{.tokens = n, .beta = beta, .cosine0 = start, .rule = rule};
            EXPECT_RELATIVE(EquiangularFlow(e).arrival(level).time(),
                            closed_form_time(e, 1 - level), 2e-12)
                << n << " " << beta << " " << start << " " << level;
          }
}

TEST(EquiangularReduction, WithoutLogitsTheSolutionIsElementary) {
  for (const double n : {2.0, 128.0, 1e30})
    for (const double t : {1e-8, 0.3, 7.0, 40.0, 5000.0}) {
      const EquiangularState s = state({.tokens = n, .beta = 0}, t);
      const double decay = std::exp(-2 * t);
      // Of t, ln t is known to its last digit.
      const double rounding = 4e-16 * (1 + t) * (1 + std::abs(std::log(t)));
      EXPECT_RELATIVE(s.cosine, -std::expm1(-2 * t) / (1 + (n - 1) * decay), rounding);
      EXPECT_NEAR(s.log_gap, std::log(n) - 2 * t - std::log1p((n - 1) * decay), 2e-14 + rounding);
    }
}

// ---- Far away: truths by mpmath with 50 to 80 digits from the closed form.

TEST(EquiangularFar, GapsFarBelowDoublePrecision) {
  const struct {
    double tokens, beta, time, log_gap;
    Rule rule;
  } cases[] = {{8, 2, 300, -596.60282310932767, kSa},
               {64, 4, 1000, -1993.5950994515876, kSa},
               {8, 1, 100, -538.15832977020248, kUsa},
               {2, 3, 50, -92.965011594876421, kSa}};
  for (const auto& c : cases) {
    const Equiangular e{.tokens = c.tokens, .beta = c.beta, .rule = c.rule};
    EXPECT_RELATIVE(state(e, c.time).log_gap, c.log_gap, 1e-14);
    EXPECT_RELATIVE(EquiangularFlow(e).arrival_at_gap(c.log_gap).time(), c.time, 1e-14);
  }
}

TEST(EquiangularFar, ManyTokensAndLargeBeta) {
  const struct {
    double tokens, beta, start, level, log_time;
    Rule rule;
  } cases[] = {{1e30, 5, 0, 0.5, 3.5420826463501659, kSa},
               {1e30, 60, 0, 0.5, 3.5421891463066579, kSa},
               {1e30, 75, 0, 0.5, 9.3941247817187925, kSa},
               {1e30, 5, 0, 0.5, 3.512874225609048, kUsa},
               {1e12, 30, 0, 0.9, 4.9521591200287968, kSa},
               {8, 300, -0.125, 0.9, 332.91619588596968, kSa},
               {8, 1000, 0, 0.9, 992.39316422181426, kSa},
               {8, 1000, 0, 0.9, -5.5273942365059041, kUsa},
               {32, 1e4, 0.25, 0.999, 7488.2149200347204, kSa},
               {32, 1e4, 0.25, 0.999, -2508.3193440624799, kUsa},
               {1000, 1e6, 0, 0.9, 999985.49034575318, kSa},
               {1000, 1e6, 0, 0.9, -7.6018989678378626, kUsa}};
  for (const auto& c : cases) {
    const Equiangular e{.tokens = c.tokens, .beta = c.beta, .cosine0 = c.start, .rule = c.rule};
    const Arrival arrival = EquiangularFlow(e).arrival(c.level);
    EXPECT_EQ(arrival.status, Arrival::Status::reached);
    // ln t ~ beta w: the exponent beta w of a double is known to 2e-16 beta.
    EXPECT_NEAR(arrival.log_time, c.log_time, 1e-13 + 4e-16 * c.beta) << c.tokens << " " << c.beta;
  }
}

TEST(EquiangularFar, ExponentialTails) {
  for (const auto& [n, beta] : {std::pair{8.0, 2.0}, {64.0, 4.0}, {1000.0, 5.0}}) {
    const double log_k = log_terminal_constant(n, beta);
    for (const double t : {60.0, 1e4, 1e9})
      EXPECT_RELATIVE(state({.tokens = n, .beta = beta}, t).log_gap, std::log(n) + log_k - 2 * t,
                      1e-14);
    const Equiangular usa{.tokens = n, .beta = beta, .rule = kUsa};
    for (const double t : {40.0, 1e7})
      EXPECT_RELATIVE(state(usa, t).log_gap, std::log(n) + n * log_k - 2 * std::exp(beta) * t,
                      2e-14);
  }
}

TEST(EquiangularFar, GrowingNormsInDoublyExponentialTimes) {
  // mpmath: t = int r q dx with r from exponential integrals.
  const struct {
    double tokens, beta, level, pre, peri;
  } cases[] = {{8, 2, 0.9, 1.9520456544176073, 1.7221282074258772},
               {8, 8, 0.9, 129.7895537760298, 129.714640978687},
               {8, 14, 0.9, 32983.724343608054, 32983.68079962098},
               {1000, 5, 0.99, 2.9260699619180981, 2.6754050888170866},
               {1000, 12, 0.9, 326.49406859018639, 326.3378483230077}};
  for (const auto& c : cases) {
    Equiangular e{.tokens = c.tokens, .beta = c.beta, .norm = N::pre};
    EXPECT_RELATIVE(EquiangularFlow(e).arrival(c.level).log_time, c.pre, 1e-13);
    e.norm = N::peri;
    EXPECT_RELATIVE(EquiangularFlow(e).arrival(c.level).log_time, c.peri, 1e-13);
  }
}

TEST(EquiangularFar, TimesWhoseLogarithmOverflowsAreNotDelivered) {
  const EquiangularFlow frozen({.tokens = 8, .beta = 1000, .norm = N::pre});
  EXPECT_EQ(frozen.arrival(0.9).status, Arrival::Status::beyond_range);
  EXPECT_EQ(frozen.arrival(0.9).log_time, kInfinity);
  EXPECT_TRUE(std::isnan(frozen.sensitivity(std::log(0.1)).log_time_by_beta));
  // The forward question has an answer: nothing moves, norms grow like 1 + t.
  const EquiangularState s = frozen.at(std::log(1e6));
  EXPECT_LT(s.cosine, 1e-300);
  EXPECT_RELATIVE(s.norm(), 1 + 1e6, 1e-12);
  EXPECT_RELATIVE(frozen.at(1e5).log_norm, 1e5, 1e-12);
  // Largest delivered: ln t = ln r ~ e^beta / (2n) ...
  const EquiangularFlow slow({.tokens = 8, .beta = 690, .norm = N::peri});
  EXPECT_RELATIVE(slow.arrival(0.9).log_time,
                  EquiangularFlow({.tokens = 8, .beta = 690}).arrival(0.9).time(), 1e-12);
}

// ---- Forward and back.

TEST(EquiangularRoundTrip, TimeToGapToTime) {
  for (const N norm : every<Normalisation>())
    for (const double n : {2.0, 77.7, 1e9, 1e30})
      for (const double beta : {0.0, 1.0, 12.0})
        for (const double log_time : {-9.0, 0.3, 2.0, 9.0, 300.0}) {
          const EquiangularFlow flow(
              {.tokens = n, .beta = beta, .cosine0 = 0.01, .norm = norm, .switch_time = 2});
          const EquiangularState s = flow.at(log_time);
          // ln(1 - cosine) of a double says little about the distance to the start.
          if (s.cosine < 0.02 || std::isinf(s.log_gap)) continue;
          // The gap's own rounding, in units of ln t. Where tokens stop turning it says nothing.
          const double slope = std::exp(s.log_speed - s.log_gap + log_time);
          if (slope < 1e-12) continue;
          const Arrival back = flow.arrival_at_gap(s.log_gap);
          ASSERT_EQ(back.status, Arrival::Status::reached);
          EXPECT_NEAR(back.log_time, log_time,
                      1e-13 * (1 + std::abs(log_time)) + 1e-15 * (1 - s.log_gap) / slope)
              << name(norm) << " " << n << " " << beta << " " << log_time;
        }
}

TEST(EquiangularRoundTrip, FromNearTheSimplex) {
  for (const double n : {2.0, 8.0, 1e6})
    for (const double share : {1e-9, 1e-14}) {
      const double start = -(1 - share) / (n - 1);
      const EquiangularFlow flow({.tokens = n, .beta = 1, .cosine0 = start});
      const double sigma = std::fma(n - 1, start, 1.0);
      // Escape rate 2 n p: linear theory while sigma is small.
      const double p = 1 / (std::exp(n / (n - 1)) + n - 1),
                   t = std::log(1e-2 / share) / (2 * n * p);
      const double grown = std::fma(n - 1, flow.at(std::log(t)).cosine, 1.0);
      EXPECT_RELATIVE(grown, sigma * std::exp(2 * n * p * t), 0.02) << n << " " << share;
    }
}

TEST(EquiangularRoundTrip, SimplexNeverTurns) {
  for (const N norm : every<Normalisation>()) {
    const EquiangularFlow flow({.tokens = 3, .beta = 2, .cosine0 = -0.5, .norm = norm});
    EXPECT_EQ(flow.at(100).cosine, -0.5);
    EXPECT_EQ(flow.at(100).speed(), 0);
    EXPECT_EQ(flow.arrival(0.5).status, Arrival::Status::never);
    EXPECT_EQ(flow.half_collapse().status, Arrival::Status::never);
  }
  // ... but tokens still grow: <theta, A> = p_0 - p.
  const double e = std::exp(-3.0), lead = (1 - e) / (1 + 2 * e);
  const auto norm_at = [](N norm, double t) {
    return state({.tokens = 3, .beta = 2, .cosine0 = -0.5, .norm = norm}, t).norm();
  };
  EXPECT_RELATIVE(norm_at(N::pre, 5), 1 + 5 * lead, 1e-14);
  EXPECT_RELATIVE(norm_at(N::peri, 5), 6.0, 1e-14);
  EXPECT_RELATIVE(norm_at(N::mix, 5), 1 + 4 * lead, 1e-14);
  EXPECT_RELATIVE(norm_at(N::ln_scaling, 8), 1 + 4 * lead, 1e-14);
}

TEST(EquiangularRoundTrip, LevelsBehindTheStartAreNeverReached) {
  const EquiangularFlow flow({.tokens = 8, .beta = 1, .cosine0 = 0.4});
  EXPECT_EQ(flow.arrival(0.3).status, Arrival::Status::never);
  EXPECT_EQ(flow.arrival(0.4).status, Arrival::Status::reached);
  EXPECT_EQ(flow.arrival(0.4).log_time, -kInfinity);
  EXPECT_EQ(flow.at(-kInfinity).cosine, 0.4);
  EXPECT_EQ(flow.at(1e300).cosine, 1);
}

// ---- Derived quantities.

TEST(EquiangularSensitivity, AgainstDerivativesOfTheClosedForm) {
  const struct {
    double tokens, beta, level, by_beta, by_log_tokens;
    Rule rule;
  } cases[] = {{8, 2, 0.9, 0.2261882776890842, 0.043696974462643802, kSa},
               {64, 4, 0.5, -0.088748100883158023, 0.32972008336897909, kUsa},
               {1000, 12, 0.9, 0.96448281216654208, -0.74916073019316809, kSa}};
  for (const auto& c : cases) {
    const EquiangularFlow flow({.tokens = c.tokens, .beta = c.beta, .rule = c.rule});
    const Sensitivity s = flow.sensitivity(std::log1p(-c.level));
    EXPECT_RELATIVE(s.log_time_by_beta, c.by_beta, 1e-9);
    EXPECT_RELATIVE(s.log_time_by_log_tokens, c.by_log_tokens, 1e-9);
  }
}

TEST(EquiangularSensitivity, OfTheCosineAtAFixedTime) {
  for (const N norm : every<Normalisation>()) {
    const double beta = scheme(norm).sees_length ? 0.2 : 3;  // not where tokens have stopped
    const Equiangular e{.tokens = 30, .beta = beta, .cosine0 = -0.01, .norm = norm};
    const EquiangularState s = state(e, 4);
    const Sensitivity by = EquiangularFlow(e).sensitivity(s.log_gap);
    Equiangular more = e, less = e;
    more.beta += 1e-4, less.beta -= 1e-4;
    EXPECT_RELATIVE(by.cosine_by_beta, (state(more, 4).cosine - state(less, 4).cosine) / 2e-4,
                    1e-6);
    more = less = e;
    more.tokens *= std::exp(1e-4), less.tokens *= std::exp(-1e-4);
    EXPECT_RELATIVE(by.cosine_by_log_tokens, (state(more, 4).cosine - state(less, 4).cosine) / 2e-4,
                    1e-6);
  }
}

TEST(EquiangularEnergy, RatioToConsensus) {
  // (e^beta + (n-1) e^{beta g}) / (2 beta n) over e^beta / (2 beta).
  EXPECT_RELATIVE(energy_ratio(6, 2, std::log(0.7)),
                  (std::exp(2) + 5 * std::exp(0.6)) / (6 * std::exp(2)), 1e-15);
  EXPECT_EQ(energy_ratio(6, 2, -kInfinity), 1);
  EXPECT_RELATIVE(energy_ratio(1e30, 1e6, 0), 1e-30, 1e-15);
}

TEST(EquiangularRefusals, NameTheValueAndWhatIsAllowed) {
  const auto says = [](const Equiangular& e) { return refusal([&] { EquiangularFlow flow(e); }); };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_SAYS(says({.tokens = 1.5}), "tokens = 1.5 is not allowed; allowed: 2 to 1e30");
  EXPECT_SAYS(says({.tokens = nan}), "tokens = nan");
  EXPECT_SAYS(says({.beta = -21}), "beta = -21");
  EXPECT_SAYS(says({.beta = 1e7}), "0 to 1e6");
  EXPECT_SAYS(says({.tokens = 5, .cosine0 = -0.3}), "-0.25 (the simplex of 5 tokens) to below 1");
  EXPECT_SAYS(says({.cosine0 = 1}), "cosine0 = 1");
  EXPECT_SAYS(says({.alpha = 0}), "alpha = 0");
  EXPECT_SAYS(says({.switch_time = -1}), "switch time = -1");
  EXPECT_SAYS(says({.deepnorm_scale = 0}), "deepnorm scale = 0");
  EXPECT_SAYS(says({.rule = kUsa, .norm = N::pre}), "usa allows post only");
  const EquiangularFlow flow({});
  EXPECT_SAYS(refusal([&] { flow.at(1e301); }), "at most 1e300");
  EXPECT_SAYS(refusal([&] { flow.at(nan); }), "ln t = nan");
  EXPECT_SAYS(refusal([&] { flow.arrival(1); }), "level = 1");
  EXPECT_SAYS(refusal([&] { flow.arrival_at_gap(1); }), "ln 2");
  EXPECT_SAYS(refusal([&] { flow.arrival_at_gap(-HUGE_VAL); }), "finite");
}

}  // namespace
}  // namespace attractor::meanfield
