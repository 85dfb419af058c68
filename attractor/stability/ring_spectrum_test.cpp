// Sums of Bessel functions against sums over the ring, and against derivatives of attention itself.
#include "attractor/stability/ring_spectrum.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "attractor/attention/attention_layer.hpp"

namespace attractor::meanfield {
namespace {

constexpr double kFullTurn = 2 * std::numbers::pi;

std::vector<double> summed_over_ring(const Ring& r) {
  const auto n = static_cast<double>(r.tokens);
  const auto q = static_cast<double>(r.twist), s = q + static_cast<double>(r.turn);
  std::vector<double> rates(r.tokens, 0.0);
  double total = 0;
  for (std::size_t k = 0; k < r.tokens; ++k) {
    const double x = kFullTurn * static_cast<double>(k) / n;
    const double weight = std::exp(r.beta * (std::cos(s * x) - 1));
    total += weight;
    for (std::size_t p = 0; p < r.tokens; ++p)
      rates[p] += weight * (std::cos(q * x) - r.beta * std::sin(s * x) * std::sin(q * x)) *
                  (std::cos(static_cast<double>(p) * x) - 1);
  }
  for (double& rate : rates) rate /= total;
  return rates;
}

TEST(RingSpectrum, AliasedBesselFunctionsAreSumsOverTheRing) {
  for (const std::size_t n : {1UL, 2UL, 7UL, 12UL, 25UL})
    for (const long long q : {-3LL, 0LL, 1LL, 5LL})
      for (const long long m : {-10LL, 0LL, 2LL, 6LL})
        for (const double beta : {-4.0, 0.0, 0.5, 3.0, 40.0}) {
          const Ring ring{n, q, m, beta};
          const std::vector<double> got = twisted_spectrum(ring), expected = summed_over_ring(ring);
          ASSERT_EQ(got.size(), n);
          for (std::size_t p = 0; p < n; ++p)
            EXPECT_NEAR(got[p], expected[p], 3e-14 * (1 + std::abs(beta)))
                << n << " tokens, q = " << q << ", m = " << m << ", beta = " << beta;
        }
}

/// theta_0' with token j displaced.
double first_velocity(const Ring& r, std::size_t displaced, double by) {
  AttentionLayer layer{.beta = r.beta, .dim = 2};
  layer.query_key.rotary = {
      .layout = RotaryLayout::pairs,
      .fastest = kFullTurn * static_cast<double>(r.turn) / static_cast<double>(r.tokens)};
  std::vector<double> tokens;
  double own = 0;
  for (std::size_t i = 0; i < r.tokens; ++i) {
    const double angle = kFullTurn * static_cast<double>(r.twist) * static_cast<double>(i) /
                             static_cast<double>(r.tokens) +
                         (i == displaced ? by : 0);
    if (i == 0) own = angle;
    tokens.insert(tokens.end(), {std::cos(angle), std::sin(angle)});
  }
  LayerOutput out;
  attend(layer, tokens, {}, out);
  return -std::sin(own) * out.pull[0] + std::cos(own) * out.pull[1];
}

TEST(RingSpectrum, IsThatOfAttentionWithRotaryPositions) {
  for (const Ring& ring : {Ring{8, 1, 0, 1.5}, Ring{9, 2, -4, 3}, Ring{10, 0, 3, 6}}) {
    std::vector<double> row;  // of the Jacobian, a circulant
    for (std::size_t j = 0; j < ring.tokens; ++j) {
      constexpr double kStep = 5e-3;
      const auto slope = [&](double h) {
        return (first_velocity(ring, j, h) - first_velocity(ring, j, -h)) / (2 * h);
      };
      const double one = slope(kStep), two = slope(2 * kStep), three = slope(3 * kStep);
      row.push_back(1.5 * one - 0.6 * two + 0.1 * three);
    }
    const std::vector<double> rates = twisted_spectrum(ring);
    for (std::size_t p = 0; p < ring.tokens; ++p) {
      double eigenvalue = 0;
      for (std::size_t j = 0; j < ring.tokens; ++j)
        eigenvalue += row[j] * std::cos(kFullTurn * static_cast<double>(p * j) /
                                        static_cast<double>(ring.tokens));
      EXPECT_NEAR(eigenvalue, rates[p], 1e-9) << p;
    }
  }
}

// The root of the sum for p = 1, q = 1, m = -2 as n grows, from scipy's Bessel functions.
TEST(RingSpectrum, ATwistAttractsAboveItsBeta) {
  for (const long long q : {1LL, 7LL}) {
    EXPECT_GT(fastest_growth({101, q, -2 * q, 0.584108370}), 0);
    EXPECT_LT(fastest_growth({101, q, -2 * q, 0.584108372}), 0);
  }
}

}  // namespace
}  // namespace attractor::meanfield
