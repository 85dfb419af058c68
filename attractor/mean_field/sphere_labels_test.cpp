// Weighted tokens on spheres: equal to the zonal solver for axisymmetric laws, to the plain engine
// for equal weights, and with the linear growth of harmonics that have no axis.
#include "attractor/mean_field/sphere_labels.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "attractor/base/error.hpp"
#include "attractor/depth/attention_flow.hpp"
#include "attractor/flow/run.hpp"
#include "attractor/mean_field/zonal_density.hpp"
#include "attractor/stability/sphere_spectrum.hpp"
#include "tests/support/moved.hpp"

namespace attractor::meanfield {
namespace {

using Point = std::span<const double>;

TEST(SphereLabels, EqualTheZonalSolver) {
  for (const Rule rule : {Rule::softmax, Rule::unnormalised}) {
    const double beta = 2, time = rule == Rule::softmax ? 0.5 : 0.1;
    const ZonalLaw law = zonal_bump(3, 1);
    ZonalDensity zonal({.dim = 3, .rule = rule, .beta = beta}, 40);
    std::vector<double> start = law.coefficients(41);
    start.erase(start.begin());
    const std::vector<double> c = moved(zonal, start, time);
    // The same law about an oblique axis.
    const double third = std::sqrt(1. / 3);
    const WeightedPoints grid =
        sphere_grid(18, sphere_bumps({{.centre = {third, third, third}, .concentration = 1}}));
    WeightedTokens tokens(3, rule, beta, grid.weights);
    const std::vector<double> mean = tokens.mean(moved(tokens, grid.points, time));
    for (double m : mean) EXPECT_NEAR(m, c[0] / std::sqrt(3) * third, 1e-10) << name(rule);
  }
}

struct Harmonic {
  const char* name;
  std::size_t degree;
  double (*value)(Point);
};

TEST(SphereLabels, HarmonicsGrowAtTheLinearRate) {
  const Harmonic harmonics[] = {{"x", 1, [](Point p) { return p[0]; }},
                                {"yz", 2, [](Point p) { return p[1] * p[2]; }},
                                {"x^2-z^2", 2, [](Point p) { return p[0] * p[0] - p[2] * p[2]; }},
                                {"xyz", 3, [](Point p) { return p[0] * p[1] * p[2]; }}};
  const double beta = 2;
  const SphereSpectrum s = sphere_spectrum(3, beta, 8);
  for (const Rule rule : {Rule::softmax, Rule::unnormalised})
    for (const Harmonic& h : harmonics) {
      const WeightedPoints grid = sphere_grid(12, [&](Point p) { return 1 + 1e-6 * h.value(p); });
      WeightedTokens flow(3, rule, beta, grid.weights);
      const double rate =
          laplacian(3, h.degree) * s.pull[h.degree] * (rule == Rule::softmax ? 1 : s.lambda0());
      const auto projection = [&](const std::vector<double>& points) {
        double sum = 0;
        for (std::size_t i = 0; i < grid.weights.size(); ++i)
          sum += grid.weights[i] * h.value(Point(points).subspan(3 * i, 3));
        return sum;
      };
      const std::vector<double> end = moved(flow, grid.points, 1 / rate, 1e-14);
      EXPECT_NEAR(std::log(projection(end) / projection(grid.points)), 1, 1e-6)
          << h.name << " " << name(rule);
    }
}

TEST(SphereLabels, EqualWeightsAreTheTokensOfDepth) {
  const Stream stream(2, "sphere labels test");
  const std::vector<double> points = ZonalSampler(zonal_bump(5, 2)).points(40, stream, 0);
  for (const Rule rule : {Rule::softmax, Rule::unnormalised})
    for (const double beta : {0.0, 3.0, 2000.0}) {
      const WeightedTokens flow(5, rule, beta, std::vector<double>(40, 7.0));
      const depth::AttentionFlow tokens({.rule = rule, .beta = beta, .dim = 5}, 40, 0);
      std::vector<double> out(200), expected(200);
      flow.drift(points, flow.log_unit(), out);
      tokens.drift(points, tokens.log_unit(), expected);
      for (std::size_t i = 0; i < 200; i += 5) {
        const double speed = norm(Point(expected).subspan(i, 5));
        const double gap =
            std::sqrt(squared_distance(Point(out).subspan(i, 5), Point(expected).subspan(i, 5)));
        EXPECT_LE(gap, 1e-13 * speed) << name(rule) << " beta " << beta;
      }
      EXPECT_TRUE(std::isfinite(flow.log_energy(points)));
    }
}

TEST(SphereLabels, EnergyIsThatOfTheZonalLaw) {
  const WeightedPoints grid =
      sphere_grid(16, sphere_bumps({{.centre = {0, 0, 1}, .concentration = 2}}));
  const WeightedTokens flow(3, Rule::softmax, 1.5, grid.weights);
  EXPECT_NEAR(flow.log_energy(grid.points),
              zonal_log_energy(sphere_spectrum(3, 1.5, 40), zonal_bump(3, 2).coefficients(40)),
              1e-12);
}

TEST(SphereGrid, IntegratesHarmonicsExactly) {
  const WeightedPoints grid = sphere_grid(6, [](Point) { return 1.0; });
  EXPECT_EQ(grid.weights.size(), 72U);
  double fourth = 0, mixed = 0;
  for (std::size_t i = 0; i < grid.weights.size(); ++i) {
    const double* p = grid.points.data() + 3 * i;
    fourth += grid.weights[i] * std::pow(p[1], 4);
    mixed += grid.weights[i] * p[0] * p[0] * p[2] * p[2];
  }
  EXPECT_NEAR(fourth, 1. / 5, 1e-15);
  EXPECT_NEAR(mixed, 1. / 15, 1e-15);
}

TEST(SphereLabels, RefuseWeightsThatAreNone) {
  EXPECT_THROW(WeightedTokens(3, Rule::softmax, 1, {}), Error);
  EXPECT_THROW(WeightedTokens(3, Rule::softmax, 1, {1, -1}), Error);
}

}  // namespace
}  // namespace attractor::meanfield
