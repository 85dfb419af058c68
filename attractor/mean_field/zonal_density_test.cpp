// The axisymmetric mean field: d = 2 is the circle, labels equal coefficients, modes grow at their
// linear rates, noise relaxes to the stationary states of theory.md A10.
#include "attractor/mean_field/zonal_density.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "attractor/base/error.hpp"
#include "attractor/flow/run.hpp"
#include "attractor/mean_field/circle_density.hpp"
#include "attractor/mean_field/start_density.hpp"
#include "tests/support/moved.hpp"

namespace attractor::meanfield {
namespace {

std::vector<double> started(const ZonalDensity& flow, const ZonalLaw& law) {
  std::vector<double> c = law.coefficients(flow.degrees() + 1);
  c.erase(c.begin());
  return c;
}

TEST(ZonalDensity, InTwoDimensionsIsTheCircle) {
  for (const Rule rule : {Rule::softmax, Rule::unnormalised}) {
    ZonalDensity zonal({.dim = 2, .rule = rule, .beta = 2, .noise = 0.02}, 48);
    CircleDensity circle({.rule = rule, .beta = 2, .noise = 0.02}, {.modes = 48, .max_modes = 48});
    const auto end = moved(zonal, started(zonal, perturbed_zonal(2, 1, 0.4)), 0.5, 1e-13);
    const auto same = moved(circle, circle.state(perturbed_circle(1, 0.4).moments(49)), 0.5, 1e-13);
    for (std::size_t k = 1; k <= 10; ++k)  // p_k = sqrt(2) cos k theta
      EXPECT_NEAR(end[k - 1] / std::sqrt(2), same[2 * k - 2], 1e-13) << name(rule) << " k " << k;
  }
}

/// ln of the growth of c_l, the mean of both signs: even degrees couple to themselves in second
/// order, which is 1e-6 here.
double measured_growth(ZonalDensity& flow, std::size_t dim, std::size_t degree, double time) {
  double sum = 0;
  for (const double amplitude : {1e-6, -1e-6}) {
    const auto start = started(flow, perturbed_zonal(dim, degree, amplitude));
    const auto end = moved(flow, start, time, 1e-15);
    sum += 0.5 * std::log(end[degree - 1] / start[degree - 1]);
  }
  return sum;
}

TEST(ZonalDensity, SmallDegreesGrowAtTheLinearRate) {
  for (const std::size_t dim : {3U, 8U})
    for (const Rule rule : {Rule::softmax, Rule::unnormalised})
      for (const double beta : {0.0, 1.0, 9.0})
        for (const std::size_t degree : {1U, 2U, 3U})
          for (const double noise_ratio : {0.0, 0.5}) {
            const SphereSpectrum s = sphere_spectrum(dim, beta, 8);
            const double scale = rule == Rule::softmax ? 1 : s.lambda0();
            const double noise = noise_ratio * s.pull[1] * scale;
            ZonalDensity flow({.dim = dim, .rule = rule, .beta = beta, .noise = noise}, 24);
            const double rate = laplacian(dim, degree) * (s.pull[degree] * scale - noise);
            const double time = 1 / std::max(std::abs(rate), 0.1 * scale);
            EXPECT_NEAR(measured_growth(flow, dim, degree, time) / time, rate,
                        1e-6 * std::max(std::abs(rate), 0.01 * scale))
                << "d " << dim << " " << name(rule) << " beta " << beta << " l " << degree;
          }
}

TEST(ZonalDensity, KnowsTheGrowthOnTheSphereOfTheoryA4) {
  struct Case {
    std::size_t degree;
    double beta, unnormalised, softmax;
  };
  for (const Case& c :
       {Case{2, 4, 4.472100766716, 0.6554949557981}, {3, 9, 298.8791987161, 0.6639232305760}})
    for (const Rule rule : {Rule::softmax, Rule::unnormalised}) {
      const double rate = rule == Rule::softmax ? c.softmax : c.unnormalised;
      ZonalDensity flow({.dim = 3, .rule = rule, .beta = c.beta}, 40);
      EXPECT_NEAR(measured_growth(flow, 3, c.degree, 1 / rate), 1, 1e-6);
    }
}

TEST(ZonalLabels, AreTheCoefficientsInMotion) {
  for (const std::size_t dim : {2U, 3U, 8U})
    for (const Rule rule : {Rule::softmax, Rule::unnormalised}) {
      const ZonalAttention attention{.dim = dim, .rule = rule, .beta = 3};
      const ZonalLaw law = zonal_bump(dim, 1.5);
      ZonalDensity density(attention, 64);
      const WeightedPoints start = zonal_markers(law, 96);
      ZonalLabels labels(attention, start.weights);
      const double time = rule == Rule::softmax ? 0.4 : 0.05;
      const auto c = moved(density, started(density, law), time, 1e-13);
      const auto angles = moved(labels, start.points, time, 1e-13);
      const auto same = labels.coefficients(angles, 7);
      for (std::size_t l = 1; l < same.size(); ++l)
        EXPECT_NEAR(c[l - 1], same[l], 1e-11) << "d " << dim << " " << name(rule) << " l " << l;
      EXPECT_LT(density.truncation().largest_missing(), 1e-11);
    }
}

TEST(ZonalLabels, OfTheCircleGiveTheMeanFieldOfTheoryA2) {
  // The map theta = 2 pi u + A sin(2 pi u) is even about pi: half of the labels carry the law.
  std::vector<double> angles;
  for (std::size_t i = 0; i < 256; ++i) {
    const double turn = std::numbers::pi * (static_cast<double>(i) + 0.5) / 256;
    angles.push_back(turn + 0.5 * std::sin(turn));
  }
  ZonalLabels flow({.dim = 2, .beta = 4}, std::vector<double>(256, 1. / 256));
  const auto end = moved(flow, angles, 1, 1e-13);
  EXPECT_NEAR(std::abs(zonal_order(2, flow.coefficients(end, 2))), 0.2958528176843, 2e-12);
}

TEST(ZonalLabels, KeepTheirAccuracyAtThePoles) {
  // beta = 0: angle' = -m sin(angle) with m = E cos(angle).
  const ZonalLabels flow({.dim = 5, .beta = 0}, {0.5, 0.5});
  const std::vector<double> angles = {1e-12, 3};
  std::vector<double> out(2);
  flow.drift(angles, 0, out);
  EXPECT_NEAR(out[0] / (-0.5 * (1 + std::cos(3.0)) * 1e-12), 1, 1e-14);
}

TEST(ZonalDensity, RelaxesToTheStationaryStatesOfTheoryA10) {
  const SphereSpectrum s = sphere_spectrum(2, 4, 2);
  ZonalDensity flow({.dim = 2, .beta = 4, .noise = 0.9 * s.pull[1]}, 32);
  const auto end = moved(flow, started(flow, perturbed_zonal(2, 1, 0.8)), 400, 1e-10);
  EXPECT_NEAR(end[0] / std::sqrt(2), 0.59201807965, 1e-9);
}

TEST(ZonalDensity, WithNoiseOnTheSphereAtBetaZeroIsTheLangevinFunction) {
  // f = e^{(R/kappa) t}: R = coth(a) - 1/a with a = R/kappa.
  const double a = 2, order = 1 / std::tanh(a) - 1 / a;
  ZonalDensity flow({.dim = 3, .beta = 0, .noise = order / a}, 24);
  const auto end = moved(flow, started(flow, perturbed_zonal(3, 1, 0.9)), 200, 1e-11);
  EXPECT_NEAR(end[0] / std::sqrt(3), order, 1e-9);
}

TEST(ZonalEnergy, IsTheDoubleIntegral) {
  const ZonalLaw law = zonal_bump(3, 2);
  const SphereSpectrum s = sphere_spectrum(3, 1.5, 40);
  // E e^{beta<x,y>} for two independent bumps: sinh(r)/r over normalisation, averaged over the
  // angle of the pair of points; here by the Gauss rule in t and equal angles around.
  const WeightedPoints labels = zonal_markers(law, 40);
  double sum = 0;
  for (std::size_t i = 0; i < labels.points.size(); ++i)
    for (std::size_t j = 0; j < labels.points.size(); ++j)
      for (int turn = 0; turn < 40; ++turn) {
        const double a = labels.points[i], b = labels.points[j];
        const double cosine =
            std::cos(a) * std::cos(b) +
            std::sin(a) * std::sin(b) * std::cos(2 * std::numbers::pi * turn / 40);
        sum += labels.weights[i] * labels.weights[j] * std::exp(1.5 * cosine) / 40;
      }
  EXPECT_NEAR(zonal_log_energy(s, law.coefficients(40)), std::log(sum / 3), 1e-13);
}

TEST(ZonalDensity, RefusesImpossibleSizes) {
  EXPECT_THROW(ZonalDensity({.dim = 1}, 8), Error);
  EXPECT_THROW(ZonalDensity({}, 1), Error);
  EXPECT_THROW(ZonalLabels({.dim = 1}, {1.0}), Error);
}

}  // namespace
}  // namespace attractor::meanfield
