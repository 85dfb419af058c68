// Eigenvalues of attention on the sphere against mpmath (40 digits), closed forms and quadrature.
#include "attractor/stability/sphere_spectrum.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "attractor/stability/gegenbauer.hpp"

namespace attractor::meanfield {
namespace {

TEST(SphereSpectrum, OnTheCircleIsABesselFunction) {  // lambda_l = I_l(beta)
  struct Case {
    double beta;
    std::size_t degree;
    double ratio;  // I_l / I_0
  };
  const Case cases[] = {{1, 1, 0.446389965896534507},    {1, 2, 0.107220068206930986},
                        {9, 4, 0.396279578981023124},    {100, 14, 0.374069440295005682},
                        {700, 37, 0.375939053449835442}, {1e6, 1414, 0.367990434895380182}};
  for (const Case& c : cases) {
    const SphereSpectrum s = sphere_spectrum(2, c.beta, c.degree + 1);
    EXPECT_NEAR(s.ratio[c.degree] / c.ratio, 1, 1e-13) << c.beta;
    EXPECT_NEAR(s.pull[c.degree] / (c.ratio / c.beta), 1, 1e-13) << c.beta;
  }
}

TEST(SphereSpectrum, HasTheRightScale) {  // ln lambda_0
  struct Case {
    std::size_t dim;
    double beta, log_lambda0;
  };
  const Case cases[] = {{2, 1e6, 999992.17330631281325},  {3, 1e6, 999985.49134226147578},
                        {10000, 1e6, 971963.61011762714}, {64, 1e5, 99735.998891696926},
                        {2, 700, 695.80569999844344908},  {1000, 3000, 1909.4847015707528633},
                        {10000, 1, 4.9999999750049993e-5}};
  for (const Case& c : cases) {
    const SphereSpectrum s = sphere_spectrum(c.dim, c.beta, 1);
    EXPECT_NEAR(c.beta + s.log_scale, c.log_lambda0, 1e-15 * (1 + c.beta))
        << c.dim << " " << c.beta;
  }
  EXPECT_NEAR(sphere_spectrum(2, 2, 1).lambda0() / 2.2795853023360672674, 1, 1e-14);
  EXPECT_EQ(sphere_spectrum(2, 1e6, 1).lambda0(), std::numeric_limits<double>::infinity());
}

TEST(SphereSpectrum, OnTheOrdinarySphereIsElementary) {  // sinh(b)/b; coth(b) - 1/b
  for (double beta : {0.5, 2.0, 9.0, 30.0, 300.0}) {
    const SphereSpectrum s = sphere_spectrum(3, beta, 2);
    EXPECT_NEAR(s.lambda0() / (std::sinh(beta) / beta), 1, 1e-15 * (4 + beta)) << beta;
    EXPECT_NEAR(s.ratio[1], 1 / std::tanh(beta) - 1 / beta, 1e-14) << beta;
  }
}

TEST(SphereSpectrum, WithoutTemperature) {  // lambda_1/beta -> 1/d
  for (std::size_t dim : {2UL, 3UL, 1000UL}) {
    const double d = static_cast<double>(dim);
    const SphereSpectrum none = sphere_spectrum(dim, 0, 4);
    EXPECT_EQ(none.log_scale, 0);
    EXPECT_DOUBLE_EQ(none.pull[1], 1 / d);
    EXPECT_EQ(none.pull[2], 0);
    EXPECT_EQ(none.ratio[1], 0);
    const SphereSpectrum hot = sphere_spectrum(dim, 1e-6, 3);  // 1/d and beta/(d(d+2))
    EXPECT_NEAR(hot.pull[1] * d, 1, 1e-12);
    EXPECT_NEAR(hot.pull[2] * d * (d + 2) / 1e-6, 1, 1e-12);
  }
}

TEST(SphereSpectrum, IsWhatQuadratureGives) {  // lambda_l = E[e^{beta t} p_l(t)] / p_l(1)
  for (std::size_t dim : {2UL, 3UL, 8UL, 64UL})
    for (double beta : {0.3, 4.0, 20.0}) {
      const std::size_t count = 8, nodes = 80;
      const SphereSpectrum s = sphere_spectrum(dim, beta, count);
      const Gegenbauer basis(dim, count);
      const GaussRule rule = gauss_rule(dim, nodes);
      std::vector<double> sums(count), p(count);
      for (std::size_t k = 0; k < nodes; ++k) {
        basis.values(rule.nodes[k], p);
        for (std::size_t l = 0; l < count; ++l)
          sums[l] += rule.weights[k] * std::exp(beta * rule.nodes[k]) * p[l];
      }
      basis.values(1, p);
      for (std::size_t l = 0; l < count; ++l)
        EXPECT_NEAR(sums[l] / p[l] / s.lambda0(), s.ratio[l], 1e-13)
            << "d=" << dim << " beta=" << beta << " l=" << l;
    }
}

TEST(SphereSpectrum, IsResolvedToTheLastDegreeThatMatters) {
  for (std::size_t dim : {2UL, 3UL, 1000UL})
    for (double beta : {1e-6, 1.0, 100.0, 1e6}) {
      const SphereSpectrum s = resolved_spectrum(dim, beta, 1e-9);
      const SphereSpectrum more = sphere_spectrum(dim, beta, s.count() + 1);
      ASSERT_GE(s.count(), 2U);
      EXPECT_LT(more.ratio.back(), 1e-9);
      EXPECT_TRUE(s.count() == 2 || s.ratio.back() >= 1e-9);
      for (std::size_t l = 0; l < s.count(); ++l) EXPECT_NEAR(s.ratio[l] / more.ratio[l], 1, 1e-13);
    }
}

}  // namespace
}  // namespace attractor::meanfield
