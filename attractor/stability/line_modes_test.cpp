#include "attractor/stability/line_modes.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "tests/support/refusal.hpp"

namespace attractor::meanfield {
namespace {

TEST(LineModes, DensityAgreesWithAdaptiveQuadrature) {
  // mpmath, 30 digits: moments of g' and g'' under the normal law and the half line of the joint
  // normal density of (K', K'') by adaptive quadrature.
  EXPECT_NEAR(line_mode_density({1e4, 1e4}, 1) / 19.33877833965815, 1, 1e-13);
  EXPECT_NEAR(line_mode_density({1e6, 1e3}, 0.5) / 0.0004153429490753493, 1, 1e-12);
  EXPECT_NEAR(line_mode_density({1e6, 1e6}, 3) / 194.892452130088, 1, 1e-13);
  EXPECT_NEAR(line_mode_density({1e6, 1e4}, 2.5) / 13.11725963876938, 1, 1e-13);
  EXPECT_NEAR(line_mode_density({1000, 4}, 0) / 5.86323014305689, 1, 1e-13);
}

TEST(LineModes, WithoutSlopeTheDensityIsThatOfTheCircle) {
  // At the centre there is no slope; the next order is that of the bend, 1/beta.
  for (const double beta : {1e6, 1e8})
    EXPECT_NEAR(line_mode_density({beta, beta}, 0) / std::sqrt(beta),
                std::sqrt(1.5) / (2 * std::numbers::pi), 10 / std::sqrt(beta));
}

TEST(LineModes, ConstantIsTheLimitOfTheIntegral) {
  // n = 10^280: modes up to where a bandwidth still holds a point, over sqrt(beta ln beta). What is
  // left is of order ln ln n / ln n.
  for (const double a : {0.4, 0.8, 1.0}) {
    const double log_n = 280 * std::numbers::ln10;
    const NormalSample sample{1e280, std::exp(a * log_n)};
    const double end = std::sqrt(2 * (1 - a / 2) * log_n), step = end / 2000;
    double sum = 0;
    for (double t = step / 2; t < end; t += step) sum += 2 * step * line_mode_density(sample, t);
    const double scale = std::sqrt(sample.beta) * std::sqrt(a * log_n);
    EXPECT_NEAR(sum / scale / line_mode_constant(a), 1, 4 * std::log(log_n) / log_n) << a;
  }
  EXPECT_NEAR(line_mode_constant(1), std::sqrt(1.5) / std::numbers::pi, 1e-15);
}

TEST(LineModes, RefuseSamplesThatAreNone) {
  EXPECT_SAYS(refusal([] { line_mode_density({0, 1}, 0); }), "the number of points is 0");
  EXPECT_SAYS(refusal([] { line_mode_density({10, -1}, 0); }), "beta is -1");
  EXPECT_SAYS(refusal([] { line_mode_constant(2); }), "the exponent is 2");
}

}  // namespace
}  // namespace attractor::meanfield
