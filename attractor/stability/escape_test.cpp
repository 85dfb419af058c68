#include "attractor/stability/escape.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "attractor/base/random.hpp"
#include "attractor/depth/velocity.hpp"
#include "attractor/reductions/regular_clusters.hpp"
#include "attractor/tokens/generators.hpp"
#include "tests/support/refusal.hpp"

namespace attractor::meanfield {
namespace {

std::vector<double> polygon(std::size_t k, std::size_t dim) {
  std::vector<double> tokens(k * dim);
  for (std::size_t i = 0; i < k; ++i) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(k);
    tokens[i * dim] = std::cos(angle);
    tokens[i * dim + 1] = std::sin(angle);
  }
  return tokens;
}

TEST(Escape, AntipodalPairHasItsClosedRate) {
  // Unnormalised attention leaves an equal antipodal pair at e^{-beta}, here per e^{-beta} of time.
  for (const double beta : {0.5, 2.0, 5.0}) {
    const Escape e = escape(polygon(2, 3), 3, {}, beta);
    EXPECT_NEAR(e.rate.value, std::exp(-2 * beta), e.rate.error + 1e-15);
    EXPECT_GT(e.frame.least(), 0);
    EXPECT_LE(e.frame.least(), e.rate.value + e.rate.error);
  }
}

TEST(Escape, PolygonsAndSimplicesHaveTheirSpectra) {
  const double beta = 2;
  for (const std::uint64_t k : {3U, 5U, 8U}) {
    const RegularClusters clusters{.rule = Rule::unnormalised, .beta = beta, .count = k};
    const GrowthSpectrum flat = polygon_spectrum(clusters);
    const double in_plane = flat.growth(flat.fastest()) * std::exp(-beta);
    EXPECT_NEAR(escape(polygon(k, 2), 2, {}, beta).rate.value, in_plane, 1e-13) << k;
    // On S^2 they may leave the plane as well: as a ring, or in higher modes of it.
    const double ring = std::exp(log_ring_escape_rate(clusters) - beta);
    EXPECT_GE(escape(polygon(k, 3), 3, {}, beta).rate.value, std::max(in_plane, ring) - 1e-13);
  }
  const RegularClusters four{.rule = Rule::unnormalised, .beta = beta, .count = 4};
  const TokenSet simplex = equiangular(4, 3, -1.0 / 3);
  const GrowthSpectrum modes = simplex_spectrum(four, 3);
  double fastest = 0;
  for (std::size_t k = 0; k < modes.rate.size(); ++k)
    if (modes.multiplicity[k] > 0) fastest = std::max(fastest, modes.growth(k));
  EXPECT_NEAR(escape(simplex.data, 3, {}, beta).rate.value, fastest * std::exp(-beta), 1e-13);
}

TEST(Escape, FrameSumIsTheSumOfSecondDerivatives) {
  // Any tokens: E along great circles towards each axis, by central differences.
  const std::size_t n = 6, dim = 4;
  const double beta = 1.7, h = 1e-4;
  const TokenSet start = make_tokens({.tokens = n, .dim = dim, .seed = 4});
  const std::vector<double> masses = {1, 2, 1, 0.5, 3, 1};
  const auto energy = [&](std::size_t axis, double s) {
    std::vector<double> moved = start.data;
    for (std::size_t i = 0; i < n; ++i) {
      const double* x = &start.data[i * dim];
      double length = std::sqrt(1 - x[axis] * x[axis]);
      for (std::size_t c = 0; c < dim; ++c) {
        const double v = ((c == axis) - x[axis] * x[c]) / length;
        moved[i * dim + c] = std::cos(s * length) * x[c] + std::sin(s * length) * v;
      }
    }
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        double cosine = 0;
        for (std::size_t c = 0; c < dim; ++c) cosine += moved[i * dim + c] * moved[j * dim + c];
        sum += masses[i] * masses[j] * std::exp(beta * (cosine - 1)) / (2 * beta * 8.5 * 8.5);
      }
    return sum;
  };
  double sum = 0;
  for (std::size_t axis = 0; axis < dim; ++axis)
    sum += (energy(axis, h) - 2 * energy(axis, 0) + energy(axis, -h)) / (h * h);
  EXPECT_NEAR(escape(start.data, dim, masses, beta).frame.value * (dim - 1), sum, 1e-6);
}

TEST(Escape, DirectionGrowsUnderTheFlow) {
  // The octahedron: velocities of the attention kernel beside it.
  std::vector<double> tokens(18);
  for (std::size_t i = 0; i < 6; ++i) tokens[i * 3 + i / 2] = i % 2 == 0 ? 1 : -1;
  const double beta = 2, h = 1e-6;
  const Escape e = escape(tokens, 3, {}, beta);
  EXPECT_LT(e.force, 1e-16);
  std::vector<double> moved = tokens, velocity(18);
  for (std::size_t k = 0; k < 18; ++k) moved[k] += h * e.direction[k];
  for (std::size_t i = 0; i < 6; ++i) {
    const double length = std::hypot(moved[i * 3], moved[i * 3 + 1], moved[i * 3 + 2]);
    for (std::size_t c = 0; c < 3; ++c) moved[i * 3 + c] /= length;
  }
  depth::velocity(
      {.attention = {.rule = Rule::unnormalised, .beta = beta, .dim = 3}, .log_unit = -beta}, moved,
      {}, velocity);
  for (std::size_t k = 0; k < 18; ++k)
    EXPECT_NEAR(velocity[k] / h, e.rate.value * e.direction[k], 1e-5) << k;
}

TEST(Escape, RefusesWhatAreNoTokens) {
  EXPECT_SAYS(refusal([] { escape(std::vector{1.0, 0.0, 0.0}, 2, {}, 1); }), "3 numbers");
  EXPECT_SAYS(refusal([] { escape(std::vector{1.0, 0.0}, 2, {}, -1); }), "beta is -1");
  EXPECT_SAYS(refusal([] {
                escape(std::vector{1.0, 0.0}, 2, std::vector{0.0}, 1);
              }),
              "a mass is 0");
}

}  // namespace
}  // namespace attractor::meanfield
