#include "attractor/long_context/context_simulation.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "attractor/base/error.hpp"
#include "attractor/base/threads.hpp"

namespace attractor::meanfield {
namespace {

ContextSimulation simulation(double tokens, double rho, double exponent, double residual,
                             std::size_t dim) {
  return {.layer = {.tokens = tokens, .rho = rho, .exponent = exponent, .residual = residual},
          .dim = dim,
          .replicates = 16};
}

void expect_within_error(const Measured& measured, double expected, const std::string& what) {
  ASSERT_GT(measured.error, 0) << what;
  EXPECT_LT(std::abs(measured.mean - expected), 4 * measured.error)
      << what << ": " << measured.mean << " +- " << measured.error << ", expected " << expected;
}

void expect_agreement(const ContextSample& m, const ContextExpectation& e,
                      const std::string& what) {
  expect_within_error(m.self_weight, e.self_weight, what + " self weight");
  expect_within_error(m.output_cosine, e.output_cosine, what + " cosine");
  expect_within_error(m.gap, e.gap, what + " gap");
  expect_within_error(m.entropy, e.entropy, what + " entropy");
  expect_within_error(m.angle_ratio, e.angle_ratio, what + " angle");
}

TEST(ContextSimulation, AgreesWithTheCorrectedClosedForm) {
  struct Case {
    double tokens, rho, exponent, residual;
    std::size_t dim;
  };
  for (const Case& c : {Case{1000, 0.5, 2, 0, 128},
                        {1000, 0.5, 2, 0, 48},  // where the correction is large
                        {1000, 0.5, 1.5, 0, 64},
                        {1000, 0.5, 2.5, 0, 96},
                        {2500, 0.3, 1 / 0.7, 1, 64},
                        {500, 0, 0.5, 0, 128},
                        {1000, 0.5, 0.2, 0, 64}})
    for (const std::uint64_t seed : {0U, 1U, 2U}) {
      ContextSimulation s = simulation(c.tokens, c.rho, c.exponent, c.residual, c.dim);
      s.seed = seed;
      expect_agreement(simulate_context(s), expected_context(s),
                       std::to_string(c.exponent) + " dim " + std::to_string(c.dim));
    }
}

TEST(ContextSimulation, SeesTheCorrectionOfTheDimension) {
  const ContextSimulation s = simulation(1000, 0.5, 2, 0, 64);
  const ContextSample measured = simulate_context(s);
  const ContextState closed = context_state(s.layer);
  EXPECT_GT(std::abs(measured.self_weight.mean - closed.self_weight),
            100 * measured.self_weight.error);
  EXPECT_GT(std::abs(measured.output_cosine.mean - closed.output_cosine),
            30 * measured.output_cosine.error);
}

TEST(ContextSimulation, CorrectionsVanishLikeOneOverD) {
  const ContextState closed = context_state(simulation(1e4, 0.5, 2, 0, 3).layer);
  const double k = closed.beta / 2;
  double before = 0;
  for (const std::size_t dim : {4097U, 16385U, 65536U}) {
    const ContextExpectation e = expected_context(simulation(1e4, 0.5, 2, 0, dim));
    const auto D = static_cast<double>(dim - 1);
    // ln L = k^2/2D - k^4/4D^3 + ...
    EXPECT_NEAR(e.log_odds_shift * 2 * D / (k * k), 1, k * k / (D * D));
    const double shift = closed.self_weight - e.self_weight;
    EXPECT_NEAR(shift * D, closed.self_weight * closed.others_weight * k * k / 2, 0.6);
    if (before > 0) {
      EXPECT_NEAR(before / shift, 4, 0.01);
    }
    before = shift;
    EXPECT_NEAR(e.entropy, closed.entropy, 40 * k / D);
    EXPECT_NEAR(e.effective_tokens, 9999, 9999 * 1.1 * k * k / D);
  }
}

TEST(ContextSimulation, LogMeanOfTheCircleAndTheSphere) {
  // D = 2: L = I_0; D = 3: L = sinh(k)/k. Values of I_0: Abramowitz and Stegun, table 9.8.
  const auto shift = [](double k, std::size_t dim) {
    const double tokens = 100;
    return expected_context(simulation(tokens, 0.5, 2 * k / std::log(tokens), 0, dim))
        .log_odds_shift;
  };
  EXPECT_NEAR(std::exp(shift(1, 3)), 1.2660658777520084, 1e-14);
  EXPECT_NEAR(std::exp(shift(5, 3)), 27.239871823604442, 1e-12);
  for (const double k : {0.01, 1.0, 20.0})
    EXPECT_NEAR(shift(k, 4), std::log(std::sinh(k) / k), 1e-14 * (1 + k));
  EXPECT_NEAR(shift(2000, 4), 2000 - std::log(4000.0), 1e-10);  // no overflow
}

TEST(ContextSimulation, ExactTokensGiveTheClosedForm) {
  for (const double tokens : {2.0, 3.0, 1000.0, 1e5})
    for (const double rho : {0.0, 0.5, 0.9})
      for (const double factor : {0.7, 1.0, 1.4})
        for (const double residual : {0.0, 1.0}) {
          ContextSimulation s = simulation(tokens, rho, factor / (1 - rho), residual, 0);
          s.exact = true;
          const ContextSample m = simulate_context(s);
          const ContextState closed = context_state(s.layer);
          const double sums = 4 * tokens * 2.3e-16 + 1e-14;  // rounding of n equal terms
          EXPECT_EQ(m.self_weight.error, 0);
          EXPECT_NEAR(m.self_weight.mean / closed.self_weight, 1, 1e-14);
          EXPECT_NEAR(m.output_cosine.mean, closed.output_cosine, sums);
          EXPECT_NEAR(m.gap.mean / closed.gap, 1, sums);
          EXPECT_NEAR(m.entropy.mean, closed.entropy, 1e-15 * (1 + closed.beta * (1 - rho)));
          EXPECT_NEAR(m.angle_ratio.mean / closed.angle_ratio, 1, sums);
          EXPECT_EQ(expected_context(s).output_cosine, closed.output_cosine);
        }
}

TEST(ContextSimulation, SmallestSizes) {
  // Two tokens: one row of attention has one other token, and all rows are queries.
  ContextSimulation s = simulation(2, 0.5, 1, 0, 3);
  s.replicates = 400;
  const ContextSample m = simulate_context(s);
  EXPECT_GT(m.self_weight.mean, 0.5);
  EXPECT_LT(m.self_weight.mean, 1);
  s.rows = 65536;
  EXPECT_EQ(simulate_context(s).gap.mean, m.gap.mean);
}

TEST(ContextSimulation, SameForAnyNumberOfThreads) {
  const std::size_t usual = threads();
  const ContextSimulation s = simulation(3000, 0.4, 1.5, 0.5, 17);
  set_threads(1);
  const ContextSample one = simulate_context(s);
  set_threads(3);
  const ContextSample three = simulate_context(s);
  set_threads(usual);
  EXPECT_EQ(one.gap.mean, three.gap.mean);
  EXPECT_EQ(one.entropy.error, three.entropy.error);
}

TEST(ContextSimulation, StopsAndReports) {
  ContextSimulation s = simulation(5000, 0.4, 1.5, 0, 8);
  double last = 0;
  s.progress = [&](double share) {
    EXPECT_GT(share, last);
    last = share;
  };
  EXPECT_FALSE(simulate_context(s).stopped);
  EXPECT_DOUBLE_EQ(last, 1);
  s.stop = [] { return true; };
  s.progress = nullptr;
  EXPECT_TRUE(simulate_context(s).stopped);
}

TEST(ContextSimulation, BadInput) {
  const ContextSimulation good = simulation(100, 0.5, 2, 0, 16);
  const auto refused = [&](auto change) {
    ContextSimulation bad = good;
    change(bad);
    EXPECT_THROW(simulate_context(bad), Error);
    EXPECT_THROW(expected_context(bad), Error);
  };
  refused([](auto& s) { s.layer.tokens = 1e6; });
  refused([](auto& s) { s.layer.tokens = 10.5; });
  refused([](auto& s) { s.layer.rho = -0.001; });
  refused([](auto& s) { s.layer.exponent = -1; });
  refused([](auto& s) { s.dim = 2; });
  refused([](auto& s) { s.rows = 1; });
  refused([](auto& s) { s.replicates = 1; });
}

}  // namespace
}  // namespace attractor::meanfield
