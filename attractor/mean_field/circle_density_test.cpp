// The spectral solver on the circle against labels, closed solutions, linear rates and stationary
// states (theory.md A2, A4, A10).
#include "attractor/mean_field/circle_density.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "attractor/base/error.hpp"
#include "attractor/flow/run.hpp"
#include "attractor/mean_field/start_density.hpp"
#include "tests/support/moved.hpp"

namespace attractor::meanfield {
namespace {

std::vector<double> started(const CircleDensity& flow, const CircleLaw& law) {
  return flow.state(law.moments(flow.modes() + 1));
}

double order(std::span<const double> state) { return std::abs(moments_of(state)[1]); }

TEST(CircleDensity, MovesAlongTheOttAntonsenSolution) {
  CircleDensity flow({.beta = 0}, {.modes = 64, .max_modes = 1024});
  const auto start = started(flow, wrapped_cauchy(0.3));
  EXPECT_NEAR(order(moved(flow, start, 1, 1e-13)), 0.4603034049690, 1e-12);
  EXPECT_NEAR(order(moved(flow, start, 3, 1e-13)), 0.8155720884373, 1e-12);
  EXPECT_GT(flow.modes(), 64U);  // 0.8155^64 = 2e-6 asks for more
  EXPECT_FALSE(flow.unresolved());
}

struct LabelledCase {
  Rule rule;
  double beta, time, order;
};

TEST(CircleDensity, GivesTheMeanFieldOfTheoryA2) {
  const LabelledCase cases[] = {{Rule::softmax, 0, 1, 0.3715773138682},
                                {Rule::softmax, 1, 1, 0.3575110455509},
                                {Rule::unnormalised, 1, 1, 0.3967536386277},
                                {Rule::softmax, 4, 1, 0.2958528176843},
                                {Rule::unnormalised, 4, 0.1, 0.3093931020249}};
  for (const LabelledCase& c : cases) {
    CircleDensity flow({.rule = c.rule, .beta = c.beta}, {.modes = 64, .max_modes = 512});
    const auto end = moved(flow, started(flow, labelled_map(0.5)), c.time, 1e-13);
    EXPECT_NEAR(order(end), c.order, 2e-12) << name(c.rule) << " beta " << c.beta;
    EXPECT_NEAR(measure_density(end).mass, 1, 1e-12);
    EXPECT_GT(measure_density(end).smallest, 0);
    EXPECT_LT(flow.truncation().largest_missing(), 1e-12);
  }
}

TEST(CircleDensity, ConvergesFasterThanAnyPower) {
  for (const Rule rule : {Rule::softmax, Rule::unnormalised}) {
    const CircleAttention attention{.rule = rule, .beta = 2};
    const CircleLaw law = circle_bumps(
        {{.centre = 0.3, .concentration = 1}, {.centre = 2.5, .concentration = 2, .weight = 0.5}});
    const WeightedPoints markers = circle_markers(law, 512);
    CircleTokens labels(attention, markers.weights);
    flow::Progress progress{.state = markers.points};
    ASSERT_EQ(run(labels, flow::dormand_prince(), {.end = flow::Time(0.3), .tolerance = 1e-13},
                  progress, {}),
              flow::Status::complete);
    const auto truth = labels.moments(progress.state, 5);
    const auto error = [&](std::size_t modes) {
      CircleDensity flow(attention, {.modes = modes, .max_modes = modes});
      const auto m = moments_of(moved(flow, started(flow, law), 0.3, 1e-13));
      double worst = 0;
      for (std::size_t k = 1; k < truth.size(); ++k)
        worst = std::max(worst, std::abs(m[k] - truth[k]));
      return worst;
    };
    const double coarse = error(8), middle = error(16), fine = error(32);
    EXPECT_LT(coarse, 1e-2) << name(rule);
    EXPECT_LT(middle, coarse / 100) << name(rule);
    EXPECT_LT(fine, std::max(middle / 1000, 1e-12)) << name(rule);
    EXPECT_LT(error(64), 1e-12) << name(rule);
  }
}

TEST(CircleDensity, SmallModesGrowAtTheLinearRate) {
  for (const Rule rule : {Rule::softmax, Rule::unnormalised})
    for (const double beta : {0.0, 1.0, 4.0, 25.0})
      for (const std::size_t mode : {1U, 2U, 5U})
        for (const double noise_ratio : {0.0, 0.5, 2.0}) {
          const SphereSpectrum s = sphere_spectrum(2, beta, 8);
          const double scale = rule == Rule::softmax ? 1 : s.lambda0();
          const double noise = noise_ratio * s.pull[1] * scale;
          CircleDensity flow({.rule = rule, .beta = beta, .noise = noise},
                             {.modes = 32, .max_modes = 32});
          const double rate = static_cast<double>(mode * mode) * (s.pull[mode] * scale - noise);
          const double time = rate == 0 ? 1 : 1 / std::max(std::abs(rate), 0.1 * scale);
          const auto end = moved(flow, started(flow, perturbed_circle(mode, 2e-6)), time, 1e-14);
          const double measured = std::log(end[2 * mode - 2] / 1e-6) / time;
          EXPECT_NEAR(measured, rate, 1e-6 * std::max(std::abs(rate), 0.01 * scale))
              << name(rule) << " beta " << beta << " mode " << mode << " noise " << noise;
        }
}

TEST(CircleDensity, RelaxesToTheStationaryStatesOfTheoryA10) {
  struct Case {
    Rule rule;
    double beta, noise_ratio, order, time;
  };
  for (const Case& c : {Case{Rule::unnormalised, 1, 0.5, 0.90497698810, 60},
                        {Rule::unnormalised, 2, 0.8, 0.80332160877, 80},
                        {Rule::softmax, 4, 0.5, 0.90108552665, 60},
                        {Rule::softmax, 4, 0.9, 0.59201807965, 400}}) {
    const SphereSpectrum s = sphere_spectrum(2, c.beta, 2);
    const double critical = s.pull[1] * (c.rule == Rule::softmax ? 1 : s.lambda0());
    CircleDensity flow({.rule = c.rule, .beta = c.beta, .noise = c.noise_ratio * critical},
                       {.modes = 40, .max_modes = 40});
    const auto end = moved(flow, started(flow, perturbed_circle(1, 0.4)), c.time, 1e-11);
    EXPECT_NEAR(order(end), c.order, 1e-10) << name(c.rule) << " beta " << c.beta;
    EXPECT_NEAR(measure_density(end).mass, 1, 1e-12);
    EXPECT_GT(measure_density(end).smallest, 0);
  }
}

TEST(CircleDensity, ClassicalRungeKuttaKeepsItsOrder) {
  CircleDensity flow({.beta = 3, .noise = 0.05}, {.modes = 24, .max_modes = 24});
  const auto start = started(flow, perturbed_circle(2, 0.5));
  const auto end = [&](double step) {
    flow::Progress progress{.state = start};
    EXPECT_EQ(run(flow, flow::rk4(), {.end = flow::Time(1), .step = step}, progress, {}),
              flow::Status::complete);
    return progress.state;
  };
  const auto truth = moved(flow, start, 1, 1e-13);
  const auto error = [&](double step) {
    const auto state = end(step);
    double worst = 0;
    for (std::size_t k = 0; k < state.size(); ++k)
      worst = std::max(worst, std::abs(state[k] - truth[k]));
    return worst;
  };
  EXPECT_NEAR(std::log2(error(1. / 32) / error(1. / 64)), 4, 0.2);
}

TEST(CircleDensity, SaysWhenItCannotResolve) {
  CircleDensity flow({.beta = 4}, {.modes = 16, .max_modes = 32});
  flow::Progress progress{.state = started(flow, perturbed_circle(1, 0.9))};
  const flow::Hooks hooks{.stop = [&] { return flow.unresolved(); }};
  EXPECT_EQ(run(flow, flow::dormand_prince(), {.end = flow::Time(20)}, progress, hooks),
            flow::Status::interrupted);
  EXPECT_TRUE(flow.unresolved());
  EXPECT_EQ(flow.modes(), 32U);
  EXPECT_LT(progress.time.value(), 20);
  EXPECT_GT(flow.truncation().largest_missing(), 1e-3);
}

TEST(CircleDensity, UniformStaysUniformAtExtremeBeta) {
  for (const Rule rule : {Rule::softmax, Rule::unnormalised}) {
    CircleDensity flow({.rule = rule, .beta = 1e4}, {.modes = 64, .max_modes = 64});
    std::vector<double> state(128, 0.0), out(128);
    flow.drift(state, flow.log_unit(), out);
    for (double x : out) EXPECT_LT(std::abs(x), 1e-14);
  }
}

TEST(CircleDensity, MeasuresEntropyAndPositivity) {
  CircleDensity flow({}, {.modes = 32, .max_modes = 32});
  // Wrapped Cauchy: E ln rho = -ln(1 - R^2); 1 - 1.5 cos(theta) dips to -1/2.
  const DensityMeasures cauchy = measure_density(started(flow, wrapped_cauchy(0.2)));
  EXPECT_NEAR(cauchy.entropy, -std::log(1 - 0.04), 1e-14);
  EXPECT_NEAR(cauchy.smallest, 0.8 / 1.2, 1e-14);
  std::vector<double> negative(64, 0.0);
  negative[0] = -0.75;
  EXPECT_NEAR(measure_density(negative).smallest, -0.5, 1e-14);
  const auto values = density_values(negative, 128);
  EXPECT_NEAR(values[0], 2.5, 1e-14);  // at -pi
  EXPECT_NEAR(values[64], -0.5, 1e-14);
}

TEST(CircleDensity, RefusesTooFewModes) { EXPECT_THROW(CircleDensity({}, {.modes = 1}), Error); }

}  // namespace
}  // namespace attractor::meanfield
