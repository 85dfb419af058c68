// Zonal polynomials and their Gauss rules: orthonormality, slopes, moments of the law of t.
#include "attractor/stability/gegenbauer.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace attractor::meanfield {
namespace {

constexpr std::size_t kDims[] = {2, 3, 8, 1000};

TEST(Gegenbauer, IsOrthonormal) {
  const std::size_t count = 201;  // degrees 0 .. 200
  for (std::size_t dim : kDims) {
    const GaussRule rule = gauss_rule(dim, count);
    const Gegenbauer basis(dim, count);
    std::vector<std::vector<double>> values(count, std::vector<double>(count));
    for (std::size_t k = 0; k < count; ++k) basis.values(rule.nodes[k], values[k]);
    double worst = 0;
    for (std::size_t a = 0; a < count; ++a)
      for (std::size_t b = 0; b <= a; ++b) {
        double product = 0;
        for (std::size_t k = 0; k < count; ++k)
          product += rule.weights[k] * values[k][a] * values[k][b];
        worst = std::max(worst, std::abs(product - (a == b ? 1.0 : 0.0)));
      }
    EXPECT_LT(worst, 1e-12) << dim;
  }
}

TEST(Gegenbauer, IsChebyshevAndLegendre) {
  std::vector<double> two(6), three(6);
  for (double t : {-0.9, -0.3, 0.0, 0.2, 0.77, 1.0}) {
    Gegenbauer(2, 6).values(t, two);
    Gegenbauer(3, 6).values(t, three);
    for (std::size_t l = 0; l < 6; ++l) {
      const double degree = static_cast<double>(l);
      const double cosine = std::cos(degree * std::acos(t));
      EXPECT_NEAR(two[l], (l ? std::sqrt(2.0) : 1.0) * cosine, 1e-14);
      EXPECT_NEAR(three[l], std::sqrt(2 * degree + 1) * std::legendre(static_cast<unsigned>(l), t),
                  1e-14);
    }
  }
}

// (1-t^2) p' = (2l+d-2) a_l p_{l-1} - l t p: no difference quotient could reach this accuracy.
TEST(Gegenbauer, SlopesSatisfyTheStructureRelation) {
  const std::size_t count = 201;
  for (std::size_t dim : kDims) {
    const double d = static_cast<double>(dim);
    const Gegenbauer basis(dim, count);
    std::vector<double> p(count), slopes(count);
    const GaussRule rule = gauss_rule(dim, 12);  // where the law of t lives
    for (double t : rule.nodes) {
      basis.values_and_slopes(t, p, slopes);
      EXPECT_EQ(slopes[0], 0);
      for (std::size_t l = 1; l < count; ++l) {
        const double degree = static_cast<double>(l);
        const double a = l == 1 ? std::sqrt(1 / d)
                                : std::sqrt(degree * (degree + d - 3) /
                                            ((2 * degree + d - 2) * (2 * degree + d - 4)));
        const double terms[] = {degree * t * p[l], (2 * degree + d - 2) * a * p[l - 1]};
        const double scale = std::abs(terms[0]) + std::abs(terms[1]) + degree * (degree + d);
        EXPECT_NEAR((1 - t * t) * slopes[l] / scale, (terms[1] - terms[0]) / scale, 1e-12)
            << "d=" << dim << " l=" << l << " t=" << t;
      }
    }
  }
}

TEST(Gegenbauer, SlopesAreDifferenceQuotients) {
  const double h = 1e-4, t = 0.31;
  for (std::size_t dim : {2UL, 3UL, 8UL}) {
    const Gegenbauer basis(dim, 9);
    std::vector<double> p(9), slopes(9);
    basis.values_and_slopes(t, p, slopes);
    const double offsets[] = {2 * h, h, -h, -2 * h}, weights[] = {-1, 8, -8, 1};
    std::vector<double> quotient(9);
    for (int k = 0; k < 4; ++k) {
      basis.values(t + offsets[k], p);
      for (std::size_t l = 0; l < 9; ++l) quotient[l] += weights[k] * p[l] / (12 * h);
    }
    for (std::size_t l = 0; l < 9; ++l)
      EXPECT_NEAR(slopes[l], quotient[l], 1e-9) << dim << " " << l;
  }
}

TEST(Gegenbauer, GaussRuleHasTheMomentsOfACoordinate) {  // E t^2 = 1/d, E t^4 = 3/(d(d+2)), ...
  for (std::size_t dim : kDims)
    for (std::size_t nodes : {1UL, 2UL, 5UL, 64UL, 201UL}) {
      const GaussRule rule = gauss_rule(dim, nodes);
      double expected = 1;
      for (std::size_t power = 0; power < std::min<std::size_t>(2 * nodes, 21); power += 2) {
        if (power > 0)
          expected *= static_cast<double>(power - 1) / static_cast<double>(dim + power - 2);
        double sum = 0, odd = 0;
        for (std::size_t k = 0; k < nodes; ++k) {
          sum += rule.weights[k] * std::pow(rule.nodes[k], static_cast<int>(power));
          odd += rule.weights[k] * std::pow(rule.nodes[k], static_cast<int>(power) + 1);
        }
        EXPECT_NEAR(sum / expected, 1, 1e-12) << dim << " " << nodes << " " << power;
        EXPECT_NEAR(odd / expected, 0, 1e-14);
      }
      for (std::size_t k = 1; k < nodes; ++k) EXPECT_LT(rule.nodes[k - 1], rule.nodes[k]);
    }
}

}  // namespace
}  // namespace attractor::meanfield
