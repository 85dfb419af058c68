#include "attractor/reductions/gaussian_tokens.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/refusal.hpp"

namespace attractor::meanfield {
namespace {

const GaussianLaw kStart{{0.3, -0.2}, {0.5, 0.1, 0.1, 0.4}};

TEST(GaussianTokens, FollowTheClosedSolutionInEigenAxes) {
  // Diagonal covariance: s/(1 -+ 2 beta s t), m e^{+-t} (1 -+ 2 beta s t)^{-1/2}.
  const double beta = 1.5, time = 0.4;
  const GaussianLaw start{{1, -0.5}, {0.5, 0, 0, 0.3}};
  for (const double sign : {1.0, -1.0}) {
    const Attention attention{.beta = beta, .dim = 2, .value = {sign, 0, 0, sign}};
    const GaussianLaw end = gaussian_after(attention, 0, start, time);
    for (std::size_t k = 0; k < 2; ++k) {
      const double s = start.covariance[3 * k], left = 1 - sign * 2 * beta * s * time;
      EXPECT_NEAR(end.covariance[3 * k], s / left, 1e-10);
      EXPECT_NEAR(end.mean[k], start.mean[k] * std::exp(sign * time) / std::sqrt(left), 1e-10);
    }
    EXPECT_EQ(end.covariance[1], 0);
  }
}

TEST(GaussianTokens, GeneralWeightsMoveTokensByTheTiltedMean) {
  // One small step, against the tilted mean by quadrature over the law: 81 x 81 points.
  const Attention attention{.beta = 0.7,
                            .dim = 2,
                            .query = {1, 0.2, -0.3, 0.8},
                            .key = {0.5, -0.4, 0.1, 1.1},
                            .value = {0.9, 0.3, -0.2, 0.6}};
  const double x[2] = {0.4, -0.7};
  const double det = 0.5 * 0.4 - 0.01;
  double mass = 0, tilted[2] = {0, 0};
  for (int i = -40; i <= 40; ++i)
    for (int j = -40; j <= 40; ++j) {
      const double y[2] = {0.3 + 0.15 * i, -0.2 + 0.15 * j}, u = 0.15 * i, w = 0.15 * j;
      const double q[2] = {x[0] + 0.2 * x[1], -0.3 * x[0] + 0.8 * x[1]};
      const double k[2] = {0.5 * y[0] - 0.4 * y[1], 0.1 * y[0] + 1.1 * y[1]};
      const double p = std::exp(-(0.4 * u * u - 0.2 * u * w + 0.5 * w * w) / (2 * det) +
                                0.7 * (q[0] * k[0] + q[1] * k[1]));
      mass += p, tilted[0] += p * y[0], tilted[1] += p * y[1];
    }
  const double mean[2] = {tilted[0] / mass, tilted[1] / mass};
  // A token of the law: its velocity is m' + A (x - m), and S' = A S + S A^T; with m = x it is m'.
  const GaussianTokens flow(attention);
  GaussianLaw at = kStart;
  std::vector<double> here(6), there(6);
  flow.drift(flow.state(at), 0, here);
  // A = d m'/d m - V, by the linear dependence of m' on m at fixed S.
  double velocity[2] = {here[0], here[1]};
  for (std::size_t c = 0; c < 2; ++c) {
    at = kStart;
    at.mean[c] += 1;
    flow.drift(flow.state(at), 0, there);
    for (std::size_t r = 0; r < 2; ++r)
      velocity[r] += (there[r] - here[r] - attention.value[2 * r + c]) * (x[c] - kStart.mean[c]);
  }
  EXPECT_NEAR(velocity[0], 0.9 * mean[0] + 0.3 * mean[1], 1e-12);
  EXPECT_NEAR(velocity[1], -0.2 * mean[0] + 0.6 * mean[1], 1e-12);
}

TEST(GaussianTokens, NoiseHoldsACollapseAtItsRoot) {
  // s' = -2 beta s^2 + 2 kappa: s = r tanh(2 sqrt(beta kappa) t + c), r = sqrt(kappa/beta).
  const double beta = 2, kappa = 0.1, r = std::sqrt(kappa / beta), time = 0.7;
  const Attention attention{.beta = beta, .dim = 1, .value = {-1}};
  const double c = std::atanh(0.05 / r);
  EXPECT_NEAR(gaussian_after(attention, kappa, {{0}, {0.05}}, time).covariance[0],
              r * std::tanh(2 * std::sqrt(beta * kappa) * time + c), 1e-10);
}

TEST(GaussianTokens, RefuseWhatDoesNotStayGaussian) {
  EXPECT_SAYS(refusal([] { GaussianTokens({.rule = Rule::unnormalised, .dim = 2}); }),
              "stay Gaussian under");
  EXPECT_SAYS(refusal([] { GaussianTokens({.dim = 2, .value = {1, 2, 3}}); }), "3 entries");
  EXPECT_SAYS(refusal([] {
                gaussian_after({.beta = 1, .dim = 2}, 0, {{0}, {1}}, 1);
              }),
              "2 and 4 are needed");
  EXPECT_SAYS(refusal([] {
                gaussian_after({.beta = 1, .dim = 1}, 0, {{0}, {1}}, 0.6);
              }),
              "diverge before time 0.6");
}

}  // namespace
}  // namespace attractor::meanfield
