// The normalisation schemes of equiangular tokens.
#include <gtest/gtest.h>

#include <array>
#include <boost/math/special_functions/expint.hpp>
#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include "attractor/base/numbers.hpp"
#include "attractor/reductions/equiangular.hpp"
#include "tests/support/equiangular_state.hpp"
#include "tests/support/relative.hpp"
#include "tests/support/rules.hpp"

namespace attractor::meanfield {
namespace {

using N = Normalisation;

/// The common curve of pre, peri and ln-scaling (theory A7).
double closed_form_log_norm(double n, double b, double w) {
  using boost::math::expint;
  const double a = 1 / (n - 1);
  const double ex = expint(b) - expint(b * w) +
                    std::exp(b * (1 + a)) * (expint(1, b * a) - expint(1, b * (1 - w + a)));
  return (-(n - 1) / n * std::log(w) - std::log(n - (n - 1) * w) / n + ex / n) / 2;
}

// ---- Theory A7.

struct SchemeCase {
  N norm;
  double cosine1, cosine5, norm5, cosine20, norm20;
};

TEST(EquiangularSchemes, TableOfTheoryA7) {
  const std::vector<SchemeCase> cases = {
      {N::post, 0.230696012555, 0.998645534025, 1, 1, 1},
      {N::pre, 0.168809527577, 0.803124142869, 4.22679448178, 0.989247041955, 18.6118240793},
      {N::peri, 0.308871998858, 0.878872731884, 5.45905615669, 0.990905687044, 20.2422929440},
      {N::sandwich, 0.308871998858, 0.878872731884, 5.45905615669, 0.990905687044, 20.2422929440},
      {N::ngpt, 0.487100263690, 0.999722339389, 1, 1, 1},
      {N::ln_scaling, 0.136023113167, 0.550999425732, 2.62816126554, 0.903508257982, 6.13966882269},
      {N::mix, 0.230696012555, 0.924102203332, 4.13072187503, 0.996306893154, 18.9093333728}};
  for (const SchemeCase& c : cases) {
    SCOPED_TRACE(name(c.norm));
    const EquiangularFlow flow({.tokens = 8, .beta = 2, .norm = c.norm});
    EXPECT_RELATIVE(flow.at(0).cosine, c.cosine1, 5e-12);
    EXPECT_RELATIVE(flow.at(std::log(5)).cosine, c.cosine5, 2e-12);
    EXPECT_RELATIVE(flow.at(std::log(5)).norm(), c.norm5, 2e-12);
    EXPECT_RELATIVE(flow.at(std::log(20)).cosine, c.cosine20, 2e-12);
    EXPECT_RELATIVE(flow.at(std::log(20)).norm(), c.norm20, 3e-12);
  }
}

TEST(EquiangularSchemes, InitialSpeedsOfTheoryA7) {
  const struct {
    double tokens, beta, plain, unit;
  } cases[] = {{8, 2, 0.1389945237720, 0.2548274222271},
               {64, 4, 0.01700707025949, 0.03625022184140},
               {1000, 5, 0.001743051301211, 0.01318031480844}};
  for (const auto& c : cases)
    for (const N n : every<Normalisation>()) {
      const Equiangular e{
          .tokens = c.tokens, .beta = c.beta, .norm = n, .alpha = 0.25, .deepnorm_scale = 2};
      const bool unit = scheme(n).unit;
      const double factor = n == N::ngpt ? 0.25 : n == N::deepnorm ? 0.5 : 1;
      const EquiangularState start = EquiangularFlow(e).at(-kInfinity);
      EXPECT_RELATIVE(start.speed(), factor * (unit ? c.unit : c.plain), 1e-12) << name(n);
      EXPECT_EQ(start.cosine, 0);
      EXPECT_EQ(start.norm(), 1);
    }
}

TEST(EquiangularSchemes, SpeedIsTheDerivative) {
  for (const N n : every<Normalisation>())
    for (const double t : {0.4, 0.999, 3.0, 40.0}) {
      const EquiangularFlow flow({.tokens = 20, .beta = 3, .cosine0 = 0.05, .norm = n});
      const double h = 1e-5 * std::min(t, 1.0);
      const EquiangularState now = flow.at(std::log(t));
      if (now.speed() * h < 1e-8 * now.gap()) continue;  // lost in the digits of the gap
      const double change = flow.at(std::log(t - h)).gap() - flow.at(std::log(t + h)).gap();
      EXPECT_RELATIVE(flow.at(std::log(t)).speed(), change / (2 * h), 2e-8) << name(n) << t;
    }
}

TEST(EquiangularSchemes, TailsOfTheoryA7) {
  const double k = std::exp(log_terminal_constant(8, 2));
  const auto gap = [](N norm, double t) {
    return state({.tokens = 8, .beta = 2, .norm = norm}, t).gap();
  };
  EXPECT_RELATIVE(gap(N::pre, 1e4), 3.736121717e-8, 2e-10);
  EXPECT_RELATIVE(gap(N::peri, 1e4), 3.734832564e-8, 2e-10);
  for (const N norm : {N::pre, N::peri, N::sandwich})
    EXPECT_RELATIVE(gap(norm, 1e13) * 1e26, k, 1e-12) << name(norm);
  EXPECT_RELATIVE(gap(N::ln_scaling, 1e26) * 4e26, k, 1e-12);
  EXPECT_RELATIVE(state({.tokens = 8, .beta = 2, .norm = N::damped_post}, 8).cosine, 0.990088255027,
                  1e-12);
  EXPECT_RELATIVE(state({.tokens = 8, .beta = 2, .norm = N::damped_post}, 1e4).log_gap,
                  std::log(8 * k) - 4 * (std::sqrt(1 + 1e4) - 1), 1e-13);
  EXPECT_RELATIVE(
      state({.tokens = 8, .beta = 2, .norm = N::deepnorm, .deepnorm_scale = 3}, 300).log_gap,
      std::log(8 * k) - 200, 1e-13);
  for (const auto& [n, beta, c] :
       {std::tuple{8.0, 2.0, 6.1170496819}, std::tuple{64.0, 4.0, 18.282352771}}) {
    const Equiangular e{.tokens = n, .beta = beta, .norm = N::ngpt, .alpha = 0.5};
    EXPECT_NEAR(state(e, 200).log_gap, std::log(c) - 200, 1e-10);
  }
  const Equiangular mix{.tokens = 8, .beta = 2, .norm = N::mix, .switch_time = 5};
  EXPECT_RELATIVE(state(mix, 1e12).gap() * 1e24, 0.001354925280, 1e-9);
}

TEST(EquiangularSchemes, LateLawsFromAnyStart) {
  for (const N norm : every<Normalisation>())
    for (const double start : {-0.1, 0.0, 0.6}) {
      Equiangular e{.tokens = 8, .beta = 2, .cosine0 = start, .norm = norm, .switch_time = 3};
      const EquiangularFlow flow(e);
      const double late = scheme(norm).grows ? std::log(1e24) : std::log(700);
      EXPECT_NEAR(flow.log_tail(late), flow.at(late).log_gap, 1e-10) << name(norm);
      double early = norm == N::mix ? std::log(4) : 0.5;  // after it has switched
      if (scheme(norm).sees_length) early = -2;           // soon it stops
      EXPECT_GT(std::abs(flow.log_tail(early) - flow.at(early).log_gap), 1e-3) << name(norm);
    }
  const EquiangularFlow usa({.tokens = 8, .beta = 2, .cosine0 = 0.2, .rule = kUsa});
  EXPECT_NEAR(usa.log_tail(3), usa.at(3).log_gap, 1e-11);
  const double k = log_terminal_constant(8, 2);
  EXPECT_NEAR(EquiangularFlow({.tokens = 8, .beta = 2}).log_tail(2),
              std::log(8) + k - 2 * std::exp(2), 1e-12);
}

/// ln(1 - g) and ln r by the equations of theory A7 and Runge's method, in s = ln(1 + t).
struct Integrated {
  double log_gap, log_norm;
};
Integrated integrated(const Equiangular& e, double from, double to, Integrated at, bool growing) {
  const auto slope = [&](double s, const Integrated& x) {
    const double n = e.tokens, t = std::expm1(s), w = std::exp(x.log_gap), g = 1 - w;
    const double seen = scheme(e.norm).sees_length ? std::exp(2 * x.log_norm) : 1;
    const double eps = std::exp(-e.beta * seen * w), p0 = 1 / (1 + (n - 1) * eps), p = eps * p0;
    const double along = p0 + (n - 1) * p * g;
    const double size = std::sqrt(p0 * p0 + (n - 1) * p * p + 2 * (n - 1) * p0 * p * g +
                                  (n - 1) * (n - 2) * p * p * g);
    const double r = growing ? std::exp(x.log_norm) : 1;
    double clock = r, push = along / r;  // s_k of the table, and (ln r)'
    if (scheme(e.norm).unit) clock *= size, push /= size;
    if (e.norm == N::ngpt) clock /= e.alpha;
    if (e.norm == N::deepnorm) clock *= e.deepnorm_scale;
    if (e.norm == N::ln_scaling || e.norm == N::damped_post) clock *= std::sqrt(1 + t);
    if (e.norm == N::ln_scaling) push /= std::sqrt(1 + t);
    double speed = 2 * p * (1 + (n - 1) * g) / clock;
    if (e.rule == kUsa) speed = 2 / n * std::exp(e.beta * g) * (1 + (n - 1) * g);
    return Integrated{-speed * (1 + t), growing ? push * (1 + t) : 0.0};
  };
  const double first = std::log1p(from), last = std::log1p(to);
  const int steps = 40'000;
  const double h = (last - first) / steps;
  const auto moved = [](const Integrated& x, double by, const Integrated& k) {
    return Integrated{x.log_gap + by * k.log_gap, x.log_norm + by * k.log_norm};
  };
  for (int k = 0; k < steps; ++k) {
    const double s = first + h * k;
    const Integrated a = slope(s, at), b = slope(s + h / 2, moved(at, h / 2, a)),
                     c = slope(s + h / 2, moved(at, h / 2, b)), d = slope(s + h, moved(at, h, c));
    at.log_gap += h / 6 * (a.log_gap + 2 * b.log_gap + 2 * c.log_gap + d.log_gap);
    at.log_norm += h / 6 * (a.log_norm + 2 * b.log_norm + 2 * c.log_norm + d.log_norm);
  }
  return at;
}

TEST(EquiangularSchemes, TerminalConstantsAgainstALongIntegration) {
  struct Case {
    double tokens, beta, cosine0;
  };
  for (const Case& c : {Case{23, 3.3, 0.3}, {8, 2, 0}, {5, 1, -0.2}, {100, 4, 0.6}})
    for (const N norm : every<Normalisation>()) {
      SCOPED_TRACE(std::string(name(norm)) + ' ' + std::to_string(c.tokens));
      const Equiangular e{.tokens = c.tokens,
                          .beta = c.beta,
                          .cosine0 = c.cosine0,
                          .norm = norm,
                          .alpha = 0.7,
                          .switch_time = 2,
                          .deepnorm_scale = 1.5};
      const bool mix = norm == N::mix, slow = norm == N::ln_scaling;
      const bool growing = scheme(norm).grows && !mix;
      Integrated at{std::log1p(-c.cosine0), 0};
      const double t = slow ? 1e12 : growing || mix ? 1e7 : norm == N::damped_post ? 150 : 18;
      if (mix) at = integrated(e, 0, 2, at, false);
      at = integrated(e, mix ? 2 : 0, t, at, growing || mix);
      // 1 - g over what the law says without K.
      double log_k = at.log_gap - std::log(c.tokens);
      if (norm == N::post) log_k += 2 * t;
      if (norm == N::ngpt) log_k += 1.4 * t;
      if (norm == N::deepnorm) log_k += 2 * t / 1.5;
      if (norm == N::damped_post) log_k += 4 * (std::sqrt(1 + t) - 1);
      if (growing || mix) log_k = at.log_gap + 2 * std::log(mix ? t - 2 : t);
      if (slow) log_k = at.log_gap + std::log(4 * t);
      if (scheme(norm).sees_length) log_k = at.log_gap;
      EXPECT_NEAR(EquiangularFlow(e).log_terminal_constant(), log_k, 1e-4);
    }
}

TEST(EquiangularSchemes, TerminalConstantsOfOtherStarts) {
  const auto constant = [](const Equiangular& e) {
    return std::exp(EquiangularFlow(e).log_terminal_constant());
  };
  EXPECT_NEAR(constant({.tokens = 23, .beta = 3.3, .cosine0 = 0.3}), 0.1358, 1e-4);
  // From orthogonal tokens all but ngpt and mix have one constant.
  for (const N norm : every<Normalisation>()) {
    const double k = std::exp(log_terminal_constant(8, 2));
    const Equiangular e{.tokens = 8, .beta = 2, .norm = norm, .switch_time = 5};
    if (scheme(norm).sees_length) continue;  // LengthClock.*
    if (norm == N::ngpt)
      EXPECT_NEAR(constant(e), 6.1170496819 / 8, 1e-10);
    else
      EXPECT_RELATIVE(constant(e), norm == N::mix ? 0.001354925280 : k, 1e-9) << name(norm);
  }
  // USA: 1 - g = n K^n e^{-2 e^beta t}, by the integral of E alone.
  for (const double start : {0.0, 0.3, -0.05}) {
    const Equiangular e{.tokens = 12, .beta = 1.5, .cosine0 = start, .rule = kUsa};
    const double t = 4;
    const Integrated at = integrated(e, 0, t, {std::log1p(-start), 0}, false);
    EXPECT_NEAR(12 * EquiangularFlow(e).log_terminal_constant(),
                at.log_gap - std::log(12.0) + 2 * std::exp(1.5) * t, 1e-6)
        << start;
  }
  EXPECT_TRUE(std::isnan(std::log(constant({.tokens = 3, .beta = 2, .cosine0 = -0.5}))));
}

TEST(EquiangularSchemes, OneCurveForAllGrowingNorms) {
  for (const N norm : {N::pre, N::peri, N::sandwich, N::ln_scaling})
    for (const auto& [n, beta] : {std::pair{8.0, 2.0}, {3.0, 0.5}, {100.0, 4.0}})
      for (const double t : {0.5, 7.0, 30.0}) {
        const EquiangularState s = state({.tokens = n, .beta = beta, .norm = norm}, t);
        EXPECT_NEAR(s.log_norm, closed_form_log_norm(n, beta, s.gap()), 1e-12) << name(norm);
      }
}

TEST(EquiangularSchemes, ClocksOfTheSameFlow) {
  // The differential equations of theory A7, by classical Runge-Kutta, share no code with clocks.
  const double n = 12, beta = 3, alpha = 0.3, tau = 2, a = 1.7, end = 6;
  for (const N norm : every<Normalisation>()) {
    if (scheme(norm).sees_length) continue;  // LengthClock.*
    const auto rate = [&](double t, double g) -> std::array<double, 3> {
      const double e = std::exp(beta * (g - 1)), z = 1 + (n - 1) * e, p = e / z, p0 = 1 / z;
      const double along = p0 + (n - 1) * p * g;
      const double size = std::sqrt(p0 * p0 + (n - 1) * p * p + 2 * (n - 1) * p0 * p * g +
                                    (n - 1) * (n - 2) * p * p * g);
      const double q = std::sqrt(1 + t);
      const bool later = t >= tau;
      switch (norm) {  // speed with s = 1 at r = 1, its power of r, r'
        case N::post:
          return {1, 0, 0};
        case N::pre:
          return {1, 1, along};
        case N::mix:
          return later ? std::array<double, 3>{1, 1, along} : std::array{1.0, 0.0, 0.0};
        case N::peri:
        case N::sandwich:
          return {1 / size, 1, along / size};
        case N::ngpt:
          return {alpha / size, 0, 0};
        case N::ln_scaling:
          return {1 / q, 1, along / q};
        case N::damped_post:
          return {1 / q, 0, 0};
        case N::deepnorm:
          return {1 / a, 0, 0};
        case N::branch:
          break;  // sees lengths
      }
      return {};
    };
    double g = 0.1, r = 1;
    const int steps = 6000;
    const double h = end / steps;
    for (int k = 0; k < steps; ++k) {
      const auto f = [&](double c, double gg, double rr) -> std::array<double, 2> {
        // Inside the step: the switch of mix falls on a step boundary.
        const double t = h * (k + 0.5 + (c - 0.5) * (norm == N::mix ? 0.999 : 1));
        const auto [speed, power, growth] = rate(t, gg);
        const double p = 1 / (std::exp(beta * (1 - gg)) + n - 1);
        return {2 * speed * p * (1 - gg) * (1 + (n - 1) * gg) / (power > 0 ? rr : 1), growth};
      };
      const auto k1 = f(0, g, r), k2 = f(0.5, g + h / 2 * k1[0], r + h / 2 * k1[1]);
      const auto k3 = f(0.5, g + h / 2 * k2[0], r + h / 2 * k2[1]);
      const auto k4 = f(1, g + h * k3[0], r + h * k3[1]);
      g += h / 6 * (k1[0] + 2 * k2[0] + 2 * k3[0] + k4[0]);
      r += h / 6 * (k1[1] + 2 * k2[1] + 2 * k3[1] + k4[1]);
    }
    const EquiangularState s = state({.tokens = n,
                                      .beta = beta,
                                      .cosine0 = 0.1,
                                      .norm = norm,
                                      .alpha = alpha,
                                      .switch_time = tau,
                                      .deepnorm_scale = a},
                                     end);
    EXPECT_NEAR(s.cosine, g, 1e-11) << name(norm);
    EXPECT_RELATIVE(s.norm(), r, 1e-11) << name(norm);
  }
}

}  // namespace
}  // namespace attractor::meanfield
