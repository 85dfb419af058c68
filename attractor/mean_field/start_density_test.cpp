// Initial laws: their four faces (density, quantile, moments, samples) must be of one law, and
// closed forms come from mpmath.
#include "attractor/mean_field/start_density.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "attractor/base/error.hpp"
#include "attractor/space/space.hpp"
#include "attractor/stability/gegenbauer.hpp"

namespace attractor::meanfield {
namespace {

using std::numbers::pi;

struct NamedLaw {
  const char* name;
  CircleLaw law;
  std::size_t nodes;  // enough for moments up to 8 to 1e-14
};

std::vector<NamedLaw> laws() {
  return {{"perturbed", perturbed_circle(3, 0.7), 512},
          {"bump", circle_bumps({{.centre = 0.4, .concentration = 3}}), 512},
          {"bumps",
           circle_bumps({{.centre = 2, .concentration = 30, .weight = 1},
                         {.centre = -1, .concentration = 5, .weight = 3}}),
           4096},
          {"cauchy", wrapped_cauchy(0.3), 512},
          {"map", labelled_map(0.5), 512},
          {"map away", labelled_map(-0.6), 1024}};
}

TEST(CircleLaws, MomentsAreTheIntegralsOfTheirDensity) {
  for (const auto& [name, law, nodes] : laws()) {
    const auto m = law.moments(9);
    for (std::size_t k = 0; k < m.size(); ++k) {
      std::complex<double> sum = 0;
      for (std::size_t j = 0; j < nodes; ++j) {
        const double angle = 2 * pi * static_cast<double>(j) / static_cast<double>(nodes);
        sum += law.density(angle) * std::polar(1.0, static_cast<double>(k) * angle);
      }
      EXPECT_LT(std::abs(m[k] - sum / static_cast<double>(nodes)), 1e-14) << name << " k " << k;
    }
  }
}

double moment_error(const CircleLaw& law, const WeightedPoints& markers) {
  const auto m = law.moments(9);
  double worst = 0;
  for (std::size_t k = 0; k < m.size(); ++k) {
    std::complex<double> sum = 0;
    for (std::size_t i = 0; i < markers.points.size(); ++i)
      sum += markers.weights[i] * std::polar(1.0, static_cast<double>(k) * markers.points[i]);
    worst = std::max(worst, std::abs(m[k] - sum));
  }
  return worst;
}

TEST(CircleLaws, MomentsAreTheMeansOverTheirLabels) {
  for (const CircleLaw& law : {perturbed_circle(3, 0.7), wrapped_cauchy(0.3), labelled_map(0.5),
                               circle_bumps({{.centre = 0.4, .concentration = 0.5}})}) {
    const std::vector<double> angles = circle_labels(law, 1024);
    EXPECT_LT(moment_error(law, {angles, std::vector<double>(1024, 1. / 1024)}), 1e-13);
  }
}

TEST(CircleLaws, MarkersCarryTheLaw) {
  EXPECT_LT(moment_error(wrapped_cauchy(0.3), circle_markers(wrapped_cauchy(0.3), 128)), 1e-14);
  EXPECT_LT(moment_error(perturbed_circle(3, 0.9), circle_markers(perturbed_circle(3, 0.9), 64)),
            1e-14);
  const CircleLaw bump = circle_bumps({{.concentration = 30}});
  EXPECT_LT(moment_error(bump, circle_markers(bump, 128, 0)), 1e-14);
  // Voids: equal weights, an error that falls like a power.
  const CircleLaw sharp = circle_bumps({{.concentration = 100}});
  const WeightedPoints markers = circle_markers(sharp, 1000);
  EXPECT_EQ(markers.weights, std::vector<double>(1000, 1. / 1000));
  EXPECT_LT(moment_error(sharp, markers), 1e-4);
  EXPECT_LT(moment_error(sharp, circle_markers(sharp, 16'000)), moment_error(sharp, markers) / 16);
}

TEST(CircleLaws, HaveTheClosedMoments) {
  const auto map = labelled_map(0.5), steep = labelled_map(0.9);  // (-1)^k J_k(k A)
  EXPECT_NEAR(map.moments(4)[1].real(), -0.24226845767487388638, 1e-15);
  EXPECT_NEAR(map.moments(4)[3].real(), -0.060963951141139630644, 1e-15);
  EXPECT_NEAR(steep.moments(41)[10].real(), 0.12469409282831673898, 1e-14);
  EXPECT_NEAR(steep.moments(41)[40].real(), 0.026229806161750630247, 1e-14);
  const auto bump = [](double c) { return circle_bumps({{.concentration = c}}).moments(21); };
  EXPECT_NEAR(bump(2)[1].real(), 0.69777465796400798201, 1e-15);  // I_k(c)/I_0(c)
  EXPECT_NEAR(bump(2)[5].real(), 0.004310292452343226292, 1e-17);
  EXPECT_NEAR(bump(100)[3].real(), 0.9557833629035729006, 1e-14);
  EXPECT_NEAR(bump(1e4)[20].real(), 0.98019769953897127498, 1e-14);
  EXPECT_EQ(perturbed_circle(3, 0.2).moments(5)[3], 0.1);
  EXPECT_NEAR(wrapped_cauchy(0.3).moments(5)[4].real(), 0.0081, 1e-17);
}

TEST(CircleLaws, HaveTheClosedQuantiles) {
  const auto quantile = [](double c, double u) {
    return circle_bumps({{.concentration = c}}).quantile(u);
  };
  EXPECT_NEAR(quantile(3, 0.9), 0.80733192095354078, 1e-14);
  EXPECT_NEAR(quantile(3, 1e-3), -2.60994397718925345, 1e-13);
  EXPECT_NEAR(quantile(100, 0.75), 0.0675466545104601243, 1e-15);
  // theta/2pi + eps sin(3 theta)/6pi + 1/2
  const double angle = perturbed_circle(3, 0.7).quantile(0.3);
  EXPECT_NEAR(angle / (2 * pi) + 0.7 * std::sin(3 * angle) / (6 * pi) + 0.5, 0.3, 1e-15);
  const double extreme = circle_bumps({{.concentration = 1e6}}).quantile(0.75);
  EXPECT_NEAR(extreme, 0.6744897501960817e-3, 1e-9);                   // Gaussian of width 1e-3
  EXPECT_TRUE(std::isfinite(perturbed_circle(1, 1).quantile(1e-12)));  // density 0 at the end
}

TEST(CircleLaws, SamplesFollowTheLaw) {
  const Stream stream(11, "start density test");
  for (const auto& [name, law, nodes] : laws()) {
    const std::vector<double> angles = circle_samples(law, 4000, stream, 2);
    const auto m = law.moments(4);
    for (std::size_t k = 1; k < m.size(); ++k) {
      std::complex<double> sum = 0;
      for (double angle : angles) sum += std::polar(1.0, static_cast<double>(k) * angle);
      EXPECT_LT(std::abs(m[k] - sum / 4000.0), 4 / std::sqrt(4000)) << name << " k " << k;
    }
    EXPECT_NE(circle_samples(law, 2, stream, 3), circle_samples(law, 2, stream, 2)) << name;
  }
}

TEST(CircleLaws, AtomsAreTheGivenTokens) {
  const CircleLaw law = circle_atoms({0.1, 2.0, 5.0});
  EXPECT_EQ(circle_labels(law, 3), (std::vector{0.1, 2.0, 5.0}));
  EXPECT_FALSE(law.density);
  EXPECT_NEAR(law.moments(2)[1].real(), (std::cos(0.1) + std::cos(2.0) + std::cos(5.0)) / 3, 1e-15);
}

TEST(CircleLaws, RefuseWhatIsNoLaw) {
  EXPECT_THROW(perturbed_circle(0, 0.1), Error);
  EXPECT_THROW(perturbed_circle(1, 1.1), Error);
  EXPECT_THROW(wrapped_cauchy(1), Error);
  EXPECT_THROW(wrapped_cauchy(std::nan("")), Error);
  EXPECT_THROW(labelled_map(-1), Error);
  EXPECT_THROW(circle_bumps({}), Error);
  EXPECT_THROW(circle_bumps({{.concentration = -1}}), Error);
  EXPECT_THROW(circle_bumps({{.weight = 0}}), Error);
  EXPECT_THROW(circle_atoms({std::numeric_limits<double>::infinity()}), Error);
}

TEST(ZonalLaws, CoefficientsAreTheIntegralsOfTheirDensity) {
  for (const std::size_t dim : {2U, 3U, 8U, 50U})
    for (const ZonalLaw& law : {perturbed_zonal(dim, 2, 0.5), zonal_bump(dim, 1)}) {
      const WeightedPoints labels = zonal_markers(law, 64);
      const std::vector<double> c = law.coefficients(5);
      const Gegenbauer basis(dim, 5);
      std::vector<double> p(5), sum(5), at_pole(5);
      basis.values(1, at_pole);
      for (std::size_t q = 0; q < labels.points.size(); ++q) {
        basis.values(std::cos(labels.points[q]), p);
        for (std::size_t l = 0; l < 5; ++l) sum[l] += labels.weights[q] * p[l];
      }
      for (std::size_t l = 0; l < 5; ++l)
        EXPECT_NEAR(c[l], sum[l], 1e-14 * at_pole[l]) << "d " << dim << " l " << l;
    }
}

TEST(ZonalLaws, MarkersOfASharpLawHaveEqualWeights) {
  const ZonalLaw law = zonal_bump(5, 40);
  const auto error = [&](std::size_t count) {
    const WeightedPoints markers = zonal_markers(law, count);
    EXPECT_EQ(markers.weights.front(), markers.weights.back());
    double sum = 0;
    for (double angle : markers.points) sum += std::cos(angle) / static_cast<double>(count);
    return std::abs(sum - law.coefficients(2)[1] / std::sqrt(5));
  };
  EXPECT_LT(error(2000), 1e-5);
  EXPECT_LT(error(16'000), error(2000) / 4);
}

TEST(ZonalLaws, MarkersMayCarryAnyDensity) {
  const ZonalLaw law = zonal_bump(5, 40);
  const WeightedPoints markers = zonal_markers(law, 64, 0);
  double sum = 0;
  for (std::size_t i = 0; i < markers.points.size(); ++i)
    sum += markers.weights[i] * std::cos(markers.points[i]);
  EXPECT_NEAR(sum, law.coefficients(2)[1] / std::sqrt(5), 1e-14);
}

TEST(ZonalLaws, BumpsHaveTheClosedMean) {
  const auto mean = [](std::size_t dim, double c) {
    return zonal_bump(dim, c).coefficients(2)[1] / std::sqrt(static_cast<double>(dim));
  };
  EXPECT_NEAR(mean(3, 5), 0.80009080398201937554, 1e-15);  // I_{d/2}(c)/I_{d/2-1}(c)
  EXPECT_NEAR(mean(8, 5), 0.49444976406364533315, 1e-15);
  EXPECT_NEAR(mean(8, 1e4), 0.99965004375437469897, 1e-14);
}

TEST(ZonalLaws, SamplesFollowTheLaw) {
  const Stream stream(5, "start density test");
  struct Case {
    std::size_t dim;
    double concentration;
  };
  for (const auto& [dim, c] : {Case{2, 3}, {3, 5}, {8, 1e4}, {2000, 1000}, {10'000, 1e4}}) {
    const ZonalLaw law = zonal_bump(dim, c);
    const std::size_t count = 20'000'000 / (dim * 10 + 2000);
    const std::vector<double> points = ZonalSampler(law).points(count, stream, 1);
    const double mean = law.coefficients(2)[1] / std::sqrt(static_cast<double>(dim));
    double sum = 0, squares = 0, side = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::span<const double> x(points.data() + i * dim, dim);
      EXPECT_NEAR(norm(x), 1, 1e-14);
      sum += x[0];
      squares += x[0] * x[0];
      side += x[1];
    }
    const auto n = static_cast<double>(count);
    const double error = std::sqrt((squares / n - sum / n * sum / n) / n);
    EXPECT_LT(std::abs(sum / n - mean), 4 * error) << "d " << dim;
    EXPECT_LT(std::abs(side / n), 4 / std::sqrt(n * static_cast<double>(dim - 1))) << "d " << dim;
  }
}

TEST(SphereBumps, AboutThePoleAreTheZonalOne) {
  const auto density = sphere_bumps({{.centre = {1, 0, 0, 0}, .concentration = 7}});
  const ZonalLaw law = zonal_bump(4, 7);
  for (const double t : {-0.9, 0.1, 0.8}) {
    const double point[] = {t, 0, std::sqrt(1 - t * t), 0};
    EXPECT_NEAR(density(point), std::exp(law.log_density(t)), 1e-14 * density(point));
  }
}

}  // namespace
}  // namespace attractor::meanfield
