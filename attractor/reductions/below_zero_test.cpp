// Exact reductions below beta = 0, where a token attends most to what is far from it: against
// quadrature of the equation as it is written down, against each other, and against tokens.
#include <gtest/gtest.h>

#include <boost/math/quadrature/gauss_kronrod.hpp>
#include <cmath>
#include <numbers>

#include "attractor/base/error.hpp"
#include "attractor/depth/layer_flow.hpp"
#include "attractor/flow/run.hpp"
#include "attractor/reductions/equiangular.hpp"
#include "attractor/reductions/regular_clusters.hpp"
#include "attractor/stability/stability.hpp"
#include "attractor/tokens/generators.hpp"
#include "tests/support/relative.hpp"
#include "tests/support/rules.hpp"

namespace attractor::meanfield {
namespace {

using std::numbers::pi;

template <class F>
double integral(const F& f, double from, double to) {
  return boost::math::quadrature::gauss_kronrod<double, 61>::integrate(f, from, to, 15, 1e-15);
}

double pair_speed(const ClusterPair& p, double angle) {
  const double near = std::exp(p.beta), far = std::exp(p.beta * std::cos(angle)),
               sine = std::sin(angle);
  if (p.rule == Rule::unnormalised) return (p.mass1 + p.mass2) * far * sine;
  return sine * (p.mass2 * far / (p.mass1 * near + p.mass2 * far) +
                 p.mass1 * far / (p.mass2 * near + p.mass1 * far));
}

TEST(BelowZero, PairsMergeAsTheirEquationSays) {
  for (const Rule rule : {kSa, kUsa})
    for (const double beta : {-0.5, -4.0, -20.0})
      for (const auto& [m1, m2] : {std::pair{0.5, 0.5}, std::pair{0.9, 0.1}}) {
        const ClusterPair pair{.rule = rule, .beta = beta, .mass1 = m1, .mass2 = m2};
        for (const auto& [from, to] : {std::pair{3.1, 0.2}, std::pair{1.5, 0.001}}) {
          const double time = integral([&](double a) { return 1 / pair_speed(pair, a); }, to, from);
          const PairAngle start = PairAngle::of(from);
          EXPECT_RELATIVE(merge_time(pair, start, PairAngle::of(to)).value(), time, 1e-12);
          EXPECT_RELATIVE(angle_after(pair, start, flow::Time(time)).angle(), to, 1e-10);
          EXPECT_NEAR(log_speed(pair, start), std::log(pair_speed(pair, from)), 1e-12);
        }
      }
  EXPECT_TRUE(std::isnan(ratio_to_asymptotic({.beta = -1}, PairAngle::of(1))));
  EXPECT_THROW(clock({.beta = -20.5}), Error);
}

TEST(BelowZero, RingsSlideAsTheirEquationSays) {
  for (const Rule rule : {kSa, kUsa})
    for (const double beta : {-1.0, -7.0, -20.0})
      for (const std::uint64_t k : {3u, 8u}) {
        const auto speed = [&](double polar) {
          double pull = 0, weight = 0;
          for (std::uint64_t l = 0; l < k; ++l) {
            const double a = 1 - std::cos(2 * pi * static_cast<double>(l) / static_cast<double>(k)),
                         e = std::exp(-beta * std::sin(polar) * std::sin(polar) * a);
            pull += a * e;
            weight += e;
          }
          if (rule == kUsa) weight = static_cast<double>(k) * std::exp(-beta);
          return std::sin(polar) * std::cos(polar) * pull / weight;
        };
        const double time = integral([&](double t) { return 1 / speed(t); }, 0.1, 1.4);
        EXPECT_RELATIVE(ring_time({rule, beta, k}, 1.4, 0.1).value(), time, 1e-12);
        EXPECT_RELATIVE(ring_polar_after({rule, beta, k}, 1.4, flow::Time(time)), 0.1, 1e-10);
      }
}

TEST(BelowZero, TwoWaysToEquiangularTokensAgree) {
  for (const Rule rule : {kSa, kUsa})
    for (const double beta : {-0.3, -5.0, -20.0})
      for (const std::uint64_t k : {2u, 5u, 40u}) {
        const double from = -0.5 / static_cast<double>(k);
        const EquiangularFlow flow(
            {.tokens = static_cast<double>(k), .beta = beta, .cosine0 = from, .rule = rule});
        for (const double level : {0.0, 0.5, 0.999999})
          EXPECT_RELATIVE(flow.arrival(level).time(),
                          equiangular_time({rule, beta, k}, from, level).value(), 1e-11);
      }
}

/// Five tokens moved by the layer flow.
double cosine_of_tokens(const Equiangular& e, double time) {
  depth::Architecture a;
  a.layer.rule = e.rule;
  a.layer.beta = e.beta;
  a.layer.dim = 5;
  a.norm = e.norm;
  a.switch_time = e.switch_time;
  a.deepnorm_scale = e.deepnorm_scale;
  depth::LayerFlow tokens(a, 5);
  flow::Progress progress{.state = equiangular(5, 5, e.cosine0).data};
  flow::run(tokens, flow::dormand_prince(), {.end = flow::Time(time), .tolerance = 1e-12}, progress,
            {});
  const std::vector<double>& x = progress.state;
  double dot = 0, one = 0, two = 0;
  for (std::size_t k = 0; k < 5; ++k)
    dot += x[k] * x[5 + k], one += x[k] * x[k], two += x[5 + k] * x[5 + k];
  return dot / std::sqrt(one * two);
}

TEST(BelowZero, EquiangularTokensMoveAsTokensDo) {
  for (const Normalisation norm : every<Normalisation>()) {
    if (scheme(norm).sees_length || scheme(norm).switches) continue;  // mix: post, then pre
    for (const double beta : {-0.4, -3.0, -12.0}) {
      const Equiangular e{.tokens = 5, .beta = beta, .cosine0 = 0.1, .norm = norm};
      const EquiangularFlow flow(e);
      for (const double time : {0.5, 4.0})
        EXPECT_NEAR(flow.at(std::log(time)).cosine, cosine_of_tokens(e, time), 2e-10)
            << name(norm) << beta;
    }
  }
  const Equiangular usa{.tokens = 5, .beta = -3, .cosine0 = 0.1, .rule = kUsa};
  EXPECT_NEAR(EquiangularFlow(usa).at(0).cosine, cosine_of_tokens(usa, 1), 2e-10);
}

TEST(BelowZero, LengthsThatWouldShrinkToNothingAreRefused) {
  EXPECT_THROW(
      EquiangularFlow({.tokens = 5, .beta = -3, .cosine0 = -0.2, .norm = Normalisation::pre}),
      Error);
  EXPECT_THROW(EquiangularFlow({.tokens = 5, .beta = -3, .norm = Normalisation::branch}), Error);
  EXPECT_NO_THROW(EquiangularFlow({.tokens = 5, .beta = -3, .cosine0 = -0.2}));
}

TEST(BelowZero, UniformTokensHaveTheirRatesWithEvenOnesTurned) {
  for (const Rule rule : {kSa, kUsa})
    for (const std::size_t dim : {2u, 3u, 17u})
      for (const double beta : {0.3, 9.0, 300.0}) {
        const double noise = 0.01 * stability({rule, dim, beta}).critical_noise();
        const Stability up = stability({rule, dim, beta}, 30),
                        down = stability({rule, dim, -beta}, 30),
                        noisy = stability({rule, dim, -beta, noise}, 30);
        double grow = 0;
        for (std::size_t l = 1; l <= 30; ++l) {
          EXPECT_EQ(down.rate[l], l % 2 == 0 ? -up.rate[l] : up.rate[l]);
          grow += noisy.rate[l] > 0 ? 1 : 0;
        }
        EXPECT_EQ(down.log_unit, up.log_unit);
        EXPECT_EQ(down.fastest % 2, 1U);
        EXPECT_EQ(down.unstable, kEveryMode);
        if (noisy.rate[29] < 0) {
          EXPECT_EQ(static_cast<double>(noisy.unstable), grow);
        }
      }
}

TEST(BelowZero, WavesOfManyTokensGrowAtTheirRates) {
  // Displacements cos(k u) of 64 tokens at even places of the circle: polygon_spectrum, another
  // way.
  for (const double beta : {-2.0, -9.0}) {
    const Stability s = stability({.beta = beta});
    const GrowthSpectrum p = polygon_spectrum({kSa, beta, 64});
    for (std::size_t k = 1; k < 8; ++k) EXPECT_NEAR(p.growth(k), s.growth(k), 1e-11) << k;
  }
}

}  // namespace
}  // namespace attractor::meanfield
