// Attention without the own token, without the own value, and with a heavy first token, against
// sums written out.
#include "attractor/attention/self_attention.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "attractor/attention/attention_layer.hpp"
#include "tests/support/layer_data.hpp"
#include "tests/support/refusal.hpp"

namespace attractor {
namespace {

constexpr std::size_t kCoordinates = 3, kFew = 7;

double product(const std::vector<double>& x, std::size_t i, std::size_t j) {
  double sum = 0;
  for (std::size_t a = 0; a < kCoordinates; ++a)
    sum += x[i * kCoordinates + a] * x[j * kCoordinates + a];
  return sum;
}

/// Row i over j != i, identity weights.
std::vector<double> without_self(Rule rule, double beta, bool causal, const std::vector<double>& x,
                                 std::size_t i) {
  std::vector<double> result(kCoordinates, 0.0);
  std::vector<std::size_t> others;
  for (std::size_t j = 0; j < kFew; ++j)
    if (j != i && (!causal || j < i)) others.push_back(j);
  if (others.empty()) return result;
  double largest = -1e300, total = 0;
  for (const std::size_t j : others) largest = std::max(largest, beta * product(x, i, j));
  for (const std::size_t j : others) total += std::exp(beta * product(x, i, j));
  for (const std::size_t j : others) {
    const double logit = beta * product(x, i, j), count = static_cast<double>(others.size());
    const double weight = rule == Rule::softmax        ? std::exp(logit) / total
                          : rule == Rule::unnormalised ? std::exp(logit) / count
                          : rule == Rule::hardmax      ? (logit == largest ? 1 : 0)
                          : rule == Rule::linear       ? logit / count
                                                       : std::max(0.0, logit) / count;
    for (std::size_t a = 0; a < kCoordinates; ++a) result[a] += weight * x[j * kCoordinates + a];
  }
  return result;
}

TEST(SelfAttentionLayer, ExcludeIsTheSumOverTheOthers) {
  const std::vector<double> x = normals("self", kFew, kCoordinates);
  for (const Rule rule :
       {Rule::softmax, Rule::unnormalised, Rule::hardmax, Rule::linear, Rule::relu})
    for (const bool causal : {false, true})
      for (const double beta : {-1.5, 0.8}) {
        AttentionLayer layer{.rule = rule, .beta = beta, .dim = kCoordinates};
        layer.mask.causal = causal;
        layer.self = SelfAttention::exclude;
        const LayerOutput out = attended(layer, x);
        for (std::size_t i = 0; i < kFew; ++i) {
          const std::vector<double> truth = without_self(rule, beta, causal, x, i);
          for (std::size_t a = 0; a < kCoordinates; ++a)
            EXPECT_NEAR(out.out[i * kCoordinates + a], truth[a], 1e-13 * (1 + std::abs(truth[a])))
                << name(rule) << causal << beta << ' ' << i;
        }
      }
}

TEST(SelfAttentionLayer, RemovalTakesTheOwnValueFromEveryHead) {
  const std::vector<double> x = normals("self", kFew, kCoordinates);
  const std::vector<Head> heads = {random_head("a", 2, kCoordinates),
                                   random_head("b", 2, kCoordinates)};
  std::vector<double> truth(x.size(), 0.0);
  for (const Head& head : heads) {
    AttentionLayer alone{.beta = 0.7, .dim = kCoordinates, .heads = {head}};
    const std::vector<double> y = attended(alone, x).out;
    for (std::size_t i = 0; i < kFew; ++i) {
      double along = 0, square = 0;
      std::vector<double> v(kCoordinates, 0.0);
      for (std::size_t a = 0; a < kCoordinates; ++a) {
        for (std::size_t b = 0; b < kCoordinates; ++b)
          v[a] += head.value[a * kCoordinates + b] * x[i * kCoordinates + b];
        along += v[a] * y[i * kCoordinates + a];
        square += v[a] * v[a];
      }
      for (std::size_t a = 0; a < kCoordinates; ++a)
        truth[i * kCoordinates + a] += y[i * kCoordinates + a] - along / square * v[a];
    }
  }
  AttentionLayer both{.beta = 0.7, .dim = kCoordinates, .heads = heads};
  both.self = SelfAttention::remove_own_value;
  const LayerOutput out = attended(both, x);
  for (std::size_t k = 0; k < x.size(); ++k) EXPECT_NEAR(out.out[k], truth[k], 1e-13);
  EXPECT_EQ(out.out, out.pull);
}

TEST(SinkLayer, AHeavyFirstTokenIsSoManyTokens) {
  const std::vector<double> x = normals("sink", kFew, kCoordinates);
  std::vector<double> copies;
  for (int k = 0; k < 4; ++k) copies.insert(copies.end(), x.begin(), x.begin() + kCoordinates);
  copies.insert(copies.end(), x.begin() + kCoordinates, x.end());
  for (const Rule rule : {Rule::softmax, Rule::unnormalised}) {
    AttentionLayer plain{.rule = rule, .beta = 1.3, .dim = kCoordinates};
    plain.mask.causal = true;
    AttentionLayer heavy = plain;
    heavy.sink_mass = 4;
    const LayerOutput many = attended(plain, copies), one = attended(heavy, x);
    for (std::size_t k = kCoordinates; k < x.size(); ++k)
      EXPECT_NEAR(one.out[k], many.out[k + 3 * kCoordinates], 1e-13 * (1 + std::abs(one.out[k])));
  }
}

TEST(SelfAttentionLayer, RefusesWhatHasNoMeaning) {
  AttentionLayer doubly{.rule = Rule::sinkhorn, .dim = kCoordinates};
  doubly.self = SelfAttention::exclude;
  EXPECT_NE(refusal([&] { validate(doubly); }).find("sinkhorn is not allowed where tokens exclude"),
            std::string::npos);
  AttentionLayer heavy{.dim = kCoordinates};
  heavy.sink_mass = 3;
  EXPECT_EQ(refusal([&] { validate(heavy); }),
            "a first token of mass 3 needs sa or usa with a causal mask: elsewhere none is first");
  heavy.mask.causal = true;
  EXPECT_EQ(refusal([&] { validate(heavy); }), "");
  heavy.sink_mass = 0;
  EXPECT_EQ(refusal([&] { validate(heavy); }),
            "sink mass = 0 is not allowed; allowed: 1e-12 to 1e12");
}

}  // namespace
}  // namespace attractor
