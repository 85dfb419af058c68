#include "attractor/attention/sinkhorn.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "attractor/attention/attention_layer.hpp"
#include "tests/support/layer_data.hpp"
#include "tests/support/random_rows.hpp"

namespace attractor {
namespace {

std::vector<double> unit_tokens(std::size_t n, std::size_t dim) {
  return unit_rows(normals_of("sinkhorn tokens", 8, n, dim), dim);
}

double worst_sum(const std::vector<double>& p, std::size_t n) {
  double worst = 0;
  for (std::size_t i = 0; i < n; ++i) {
    double row = -1, column = -1;
    for (std::size_t j = 0; j < n; ++j) row += p[i * n + j], column += p[j * n + i];
    worst = std::max({worst, std::abs(row), std::abs(column)});
  }
  return worst;
}

TEST(Sinkhorn, RowsAndColumnsSumToOne) {
  constexpr std::size_t kTokens = 150, kDim = 3;
  const std::vector<double> x = unit_tokens(kTokens, kDim);
  const Head skew{.query = {}, .key = {0, 1, 0, 0, 0, 1, 1, 0, 0}, .value = {}};
  for (const Head& head : {Head{}, skew})
    for (const Mask& mask : {Mask{}, Mask{.window = 5}, Mask{.slope = 0.1}}) {
      const AttentionLayer layer{
          .rule = Rule::sinkhorn, .beta = 2, .dim = kDim, .heads = {head}, .mask = mask};
      const LayerOutput out = attended(layer, x, {.matrix = true});
      EXPECT_EQ(out.status, LayerStatus::complete);
      EXPECT_LT(worst_sum(out.matrix, kTokens), 2e-12);
    }
}

// Turns would need e^{c beta} iterations; averages of a positive semidefinite kernel need about 30.
TEST(Sinkhorn, SymmetricKernelsConvergeFastForEveryBeta) {
  constexpr std::size_t kTokens = 60, kDim = 3;
  const std::vector<double> x = unit_tokens(kTokens, kDim);
  for (const double beta : {0.0, 1.0, 10.0, 100.0, 1000.0}) {
    const LayerOutput out =
        attended({.rule = Rule::sinkhorn, .beta = beta, .dim = kDim}, x, {.matrix = true});
    EXPECT_EQ(out.status, LayerStatus::complete) << beta;
    EXPECT_LE(out.sinkhorn_iterations, 40U) << beta;
    EXPECT_LT(worst_sum(out.matrix, kTokens), 1e-12 * (1 + 0.01 * beta)) << beta;
    for (std::size_t i = 0; i < kTokens; ++i)
      for (std::size_t j = 0; j < i; ++j)
        ASSERT_NEAR(out.matrix[i * kTokens + j], out.matrix[j * kTokens + i],
                    1e-14 * (1 + beta) * out.matrix[i * kTokens + j]);
  }
}

// A doubly stochastic 2 x 2 matrix has one number p: (p / (1 - p))^2 = k_11 k_22 / (k_12 k_21).
TEST(Sinkhorn, TwoTokensInClosedForm) {
  struct Pair {
    double angle, twist, beta;
  };
  for (const auto& [angle, twist, beta] :
       {Pair{1.0, 0, 0.5}, Pair{1.0, 0, 20}, Pair{2.5, 0, 3}, Pair{0.7, 0.4, 2}, Pair{2, 1.9, 1}}) {
    const std::vector<double> x = {1, 0, std::cos(angle), std::sin(angle)};
    const std::vector<double> turn = {std::cos(twist), -std::sin(twist), std::sin(twist),
                                      std::cos(twist)};
    AttentionLayer layer{.rule = Rule::sinkhorn, .beta = beta, .dim = 2};
    if (twist != 0) layer.heads[0].key = turn;
    const double log_ratio =
        beta / 2 * (2 * std::cos(twist) - std::cos(angle + twist) - std::cos(angle - twist));
    const LayerOutput out = attended(layer, x, {.matrix = true});
    EXPECT_NEAR(out.matrix[1], 1 / (1 + std::exp(log_ratio)), 1e-12) << angle << " " << twist;
    EXPECT_NEAR(out.matrix[0], 1 / (1 + std::exp(-log_ratio)), 1e-12);
  }
}

// Plain turns need 301 and 747 iterations at beta = 20.
TEST(Sinkhorn, GeneralKernelsConvergeFastForModerateBeta) {
  constexpr std::size_t kTokens = 60, kDim = 3;
  const std::vector<double> x = unit_tokens(kTokens, kDim);
  for (const std::vector<double>& key :
       {std::vector<double>{0, 1, 0, 0, 0, 1, 1, 0, 0}, {1, 0.1, -0.1, 0, 1, 0.1, 0.2, 0, 1}})
    for (const double beta : {1.0, 5.0, 20.0}) {
      AttentionLayer layer{.rule = Rule::sinkhorn, .beta = beta, .dim = kDim};
      layer.heads[0].key = key;
      const LayerOutput out = attended(layer, x, {.matrix = true});
      EXPECT_EQ(out.status, LayerStatus::complete) << beta;
      EXPECT_LE(out.sinkhorn_iterations, 80U) << beta;
      EXPECT_LT(worst_sum(out.matrix, kTokens), 2e-12) << beta;
    }
}

TEST(Sinkhorn, SaysWhenItDidNotConverge) {
  const std::vector<double> x = unit_tokens(40, 3);
  AttentionLayer layer{.rule = Rule::sinkhorn, .beta = 200, .dim = 3};
  layer.heads[0].key = {1, 0.1, 0, 0, 1, 0.1, 0, 0, 1};
  layer.sinkhorn.max_iterations = 3;
  const LayerOutput out = attended(layer, x, {.matrix = true});
  EXPECT_EQ(out.status, LayerStatus::sinkhorn_unconverged);
  EXPECT_EQ(out.sinkhorn_iterations, 3U);
  EXPECT_NEAR(out.sinkhorn_error, worst_sum(out.matrix, 40), 1e-9);
  EXPECT_GT(out.sinkhorn_error, 1e-6);
}

}  // namespace
}  // namespace attractor
