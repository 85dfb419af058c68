#include "attractor/attention/rule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "attractor/attention/attention_layer.hpp"
#include "attractor/base/error.hpp"
#include "tests/support/layer_data.hpp"

namespace attractor {
namespace {

// The deterministic tokens of the theory tables.
std::vector<double> table_tokens(std::size_t n, std::size_t dim) {
  std::vector<double> x(n * dim);
  for (std::size_t k = 0; k < x.size(); ++k) {
    const std::size_t i = k / dim, a = k % dim;
    x[k] = std::sin(static_cast<double>(1 + 3 * i + 7 * a + i * a));
  }
  return unit_rows(std::move(x), dim);
}

// theory.md A1: dE/dt of dettok(7,4), beta = 1.5, from the tangent part of `pull`.
double tangent_squared(const std::vector<double>& x, const std::vector<double>& v, std::size_t i,
                       std::size_t dim) {
  const double along = std::inner_product(&x[i * dim], &x[i * dim] + dim, &v[i * dim], 0.0);
  double squares = 0;
  for (std::size_t a = 0; a < dim; ++a)
    squares += std::pow(v[i * dim + a] - along * x[i * dim + a], 2);
  return squares;
}

TEST(Rule, EnergyRatesOfTheTheoryTable) {
  const std::vector<double> x = table_tokens(7, 4);
  const LayerOutput usa = attended({.rule = Rule::unnormalised, .beta = 1.5, .dim = 4}, x);
  const LayerOutput sa = attended({.beta = 1.5, .dim = 4}, x);
  double usa_rate = 0, sa_rate = 0;
  for (std::size_t i = 0; i < 7; ++i) {
    usa_rate += tangent_squared(x, usa.pull, i, 4) / 7;
    sa_rate += usa.row_sum[i] * tangent_squared(x, sa.pull, i, 4) / 7;  // row sum: Z_i / n
  }
  EXPECT_NEAR(usa_rate, 0.2702691737317, 1e-12);
  EXPECT_NEAR(sa_rate, 0.1564818428709, 1e-12);
}

// theory.md A1: the speed falls like e^{-beta gap} towards the hardmax, whose tokens select
// themselves. Only sums of differences show it: the speed is 1e-25 at beta = 800.
TEST(Rule, SoftmaxFreezesTowardsHardmaxAtTheRateOfTheTheoryTable) {
  const std::vector<double> x = table_tokens(7, 4);
  const auto log_speed = [&](double beta) {
    const LayerOutput out = attended({.beta = beta, .dim = 4}, x);
    double most = 0;
    for (std::size_t i = 0; i < 7; ++i) most = std::max(most, tangent_squared(x, out.pull, i, 4));
    return std::log(most) / 2;
  };
  EXPECT_NEAR((log_speed(800) - log_speed(400)) / 400, -0.07151574291143, 1e-10);
  const LayerOutput hard =
      attended({.rule = Rule::hardmax, .dim = 4}, x, {.entropy = true, .chosen = true});
  for (std::size_t i = 0; i < 7; ++i) {
    EXPECT_EQ(hard.chosen[i], i);
    EXPECT_EQ(hard.entropy[i], 0);
  }
  for (const double p : hard.pull) EXPECT_EQ(p, 0);
}

TEST(Rule, HardmaxIsTheLimitOfSoftmaxAwayFromTies) {
  constexpr std::size_t kTokens = 41, kDim = 3;
  const std::vector<double> tokens = normals("tokens", kTokens, kDim);
  AttentionLayer layer{
      .dim = kDim,
      .heads = {{.query = normals("q", kDim, kDim), .key = normals("k", kDim, kDim), .value = {}}}};
  layer.mask.causal = true;
  layer.rule = Rule::hardmax;
  const LayerOutput hard = attended(layer, tokens);
  layer.rule = Rule::softmax;
  layer.beta = 1e7;  // the smallest gap between the two largest logits is far above 1e-6
  const LayerOutput soft = attended(layer, tokens);
  for (std::size_t k = 0; k < hard.out.size(); ++k) ASSERT_NEAR(hard.out[k], soft.out[k], 1e-12);
}

TEST(Rule, HardmaxSharesTiesAndItsTieRuleHasNoScale) {
  for (const double scale : {1e-60, 1.0, 1e60}) {
    std::vector<double> x = {1, 0, 1, 1e-14, -1, 0, 0, 0.5};
    for (double& entry : x) entry *= scale;
    const LayerOutput out =
        attended({.rule = Rule::hardmax, .dim = 2}, x, {.chosen = true, .matrix = true});
    EXPECT_EQ(out.chosen, (std::vector<std::uint32_t>{0, 0, 2, 3}));
    EXPECT_EQ(out.matrix,
              (std::vector<double>{.5, .5, 0, 0, .5, .5, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}));
  }
}

// theory.md A9: x <- x + tau (x_j* - x), j* = argmax <x_i, B x_j>.
std::vector<double> frank_wolfe(double sign, double tau, int steps, double tie) {
  std::vector<double> x = {2, 0, -1.5, 1.2, -0.5, -1.8, 0.3, 0.2, 0.5, -0.4, -0.2, 0.6};
  const AttentionLayer layer{.rule = Rule::hardmax, .beta = sign, .dim = 2, .tie_tolerance = tie};
  for (int k = 0; k < steps; ++k) {
    const LayerOutput out = attended(layer, x);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += tau * out.pull[i];
  }
  return x;
}

TEST(Rule, HardmaxStepsAreTheFrankWolfeStepsOfTheTheory) {
  const std::vector<double> start = frank_wolfe(1, 0, 1, 0);
  const std::vector<double> vertices = frank_wolfe(1, 0.1, 400, 0);
  for (std::size_t k = 0; k < 6; ++k) EXPECT_EQ(vertices[k], start[k]);  // the hull stays
  for (std::size_t i = 3; i < 6; ++i) {
    double nearest = 1;
    for (std::size_t v = 0; v < 3; ++v)
      nearest = std::min(nearest, std::hypot(vertices[2 * i] - start[2 * v],
                                             vertices[2 * i + 1] - start[2 * v + 1]));
    EXPECT_LT(nearest, 1e-14);  // where tau times the distance is lost in rounding
  }
  struct Collapse {
    double tau, offset;
  };
  for (const auto& [tau, offset] :
       {Collapse{0.3, 0.0302892}, Collapse{0.1, 0.000764035}, Collapse{0.03, 4.86635e-5}}) {
    const std::vector<double> x = frank_wolfe(-1, tau, static_cast<int>(60 / tau), 1e-12);
    double a = 0, b = 0;
    for (std::size_t i = 0; i < 6; ++i) a += x[2 * i] / 6, b += x[2 * i + 1] / 6;
    EXPECT_NEAR(std::hypot(a, b), offset, 5e-6 * offset) << tau;
    for (std::size_t i = 0; i < 6; ++i)
      EXPECT_LT(std::hypot(x[2 * i] - a, x[2 * i + 1] - b), 1e-12);
  }
}

TEST(Rule, RowsWithoutWeightGiveZero) {
  const std::vector<double> x = {1, 0, 0, 1, -1, 0};
  const std::vector<double> away = {-1, 0, 0, -1};
  const AttentionLayer relu{.rule = Rule::relu,
                            .dim = 2,
                            .heads = {{.query = away, .key = {}, .value = {}}},
                            .mask = {.window = 0}};
  const AttentionLayer confidence{.rule = Rule::radial,
                                  .beta = 100,
                                  .dim = 2,
                                  .heads = {{.query = {3, 0, 0, 3}, .key = {}, .value = {}}},
                                  .kernel = RadialKernel::indicator};
  for (const AttentionLayer& layer : {relu, confidence}) {
    const LayerOutput out = attended(layer, x, {.entropy = true});
    EXPECT_EQ(out.status, LayerStatus::complete);
    for (const auto* zero : {&out.out, &out.pull, &out.row_sum, &out.entropy})
      for (const double value : *zero) EXPECT_EQ(value, 0);
  }
}

TEST(Rule, NamesGoBothWays) {
  for (const Rule rule : every<Rule>())
    EXPECT_EQ(named<Rule>("rule of attention", name(rule)), rule);
  for (const RadialKernel k : every<RadialKernel>())
    EXPECT_EQ(named<RadialKernel>("radial kernel", name(k)), k);
  EXPECT_THROW(named<Rule>("rule of attention", "softmin"), Error);
  EXPECT_THROW(named<RadialKernel>("radial kernel", ""), Error);
}

}  // namespace
}  // namespace attractor
