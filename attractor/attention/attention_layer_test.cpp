#include "attractor/attention/attention_layer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "attractor/attention/attention.hpp"
#include "attractor/base/random.hpp"
#include "tests/support/layer_data.hpp"

namespace attractor {
namespace {

using Real = long double;
using Reals = std::vector<Real>;

// ---- The map as the textbook writes it: dense, long double, sums over all pairs.

Reals times(const std::vector<double>& matrix, const double* x, std::size_t dim) {
  if (matrix.empty()) return Reals(x, x + dim);
  Reals y(matrix.size() / dim, 0);
  for (std::size_t a = 0; a < y.size(); ++a)
    for (std::size_t b = 0; b < dim; ++b) y[a] += static_cast<Real>(matrix[a * dim + b]) * x[b];
  return y;
}

Real kernel_value(RadialKernel kernel, Real beta, Real r) {
  switch (kernel) {
    case RadialKernel::gaussian:
      return std::exp(-beta * r * r / 2);
    case RadialKernel::laplace:
      return std::exp(-beta * r);
    case RadialKernel::cauchy:
      return 1 / (1 + beta * r * r);
    case RadialKernel::epanechnikov:
      return std::max<Real>(0, 1 - beta * r * r / 2);
    case RadialKernel::indicator:
      return r <= 1 / std::sqrt(beta) ? 1 : 0;
  }
  return 0;
}

struct Dense {
  std::size_t n;
  Reals weights;  // n x n
  std::vector<bool> seen;
  Real& operator()(std::size_t i, std::size_t j) { return weights[i * n + j]; }
};

void divide_rows(Dense& p) {
  for (std::size_t i = 0; i < p.n; ++i) {
    const Real sum = std::accumulate(&p(i, 0), &p(i, 0) + p.n, Real{0});
    for (std::size_t j = 0; j < p.n && sum > 0; ++j) p(i, j) /= sum;
  }
}

void divide_columns(Dense& p) {
  for (std::size_t j = 0; j < p.n; ++j) {
    Real sum = 0;
    for (std::size_t i = 0; i < p.n; ++i) sum += p(i, j);
    for (std::size_t i = 0; i < p.n; ++i) p(i, j) /= sum;
  }
}

Dense dense_logits(const AttentionLayer& layer, const Head& head,
                   const std::vector<double>& tokens) {
  const std::size_t dim = layer.dim, n = tokens.size() / dim;
  Dense l{n, Reals(n * n, 0), std::vector<bool>(n * n)};
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      const std::size_t apart = i < j ? j - i : i - j;
      l.seen[i * n + j] = apart <= layer.mask.window && (!layer.mask.causal || j <= i);
      const Reals q = times(head.query, &tokens[i * dim], dim);
      const Reals k = times(head.key, &tokens[j * dim], dim);
      const Real charge = static_cast<Real>(layer.mask.slope) * static_cast<Real>(apart);
      if (layer.rule == Rule::radial) {
        Real squares = 0;
        for (std::size_t a = 0; a < q.size(); ++a) squares += (q[a] - k[a]) * (q[a] - k[a]);
        l(i, j) = kernel_value(layer.kernel, layer.beta, std::sqrt(squares)) * std::exp(-charge);
      } else {
        l(i, j) = layer.beta * std::inner_product(q.begin(), q.end(), k.begin(), Real{0}) - charge;
      }
    }
  return l;
}

Dense dense_weights(const AttentionLayer& layer, const Head& head,
                    const std::vector<double>& tokens) {
  Dense p = dense_logits(layer, head, tokens);
  const std::size_t n = p.n;
  const Rule rule = layer.rule;
  for (std::size_t i = 0; i < n; ++i) {
    Real count = 0, largest = -HUGE_VALL;
    for (std::size_t j = 0; j < n; ++j)
      if (p.seen[i * n + j]) ++count, largest = std::max(largest, p(i, j));
    for (std::size_t j = 0; j < n; ++j) {
      const Real l = p(i, j);
      if (!p.seen[i * n + j])
        p(i, j) = 0;
      else if (rule == Rule::hardmax)
        p(i, j) = l == largest ? 1 : 0;
      else if (rule == Rule::linear || rule == Rule::relu)
        p(i, j) = (rule == Rule::linear || l > 0 ? l : 0) / count;
      else if (rule == Rule::unnormalised)
        p(i, j) = std::exp(l) / count;
      else if (rule == Rule::radial)
        p(i, j) = layer.normalised ? l : l / count;
      else
        p(i, j) = std::exp(l);
    }
  }
  if (rule == Rule::softmax || (rule == Rule::radial && layer.normalised)) divide_rows(p);
  for (int turn = 0; rule == Rule::sinkhorn && turn < 400; ++turn) {
    divide_columns(p);
    divide_rows(p);
  }
  return p;
}

struct Naive {
  Reals out, pull;             // n x dim
  std::vector<Dense> weights;  // one for each head
};

Naive naive(const AttentionLayer& layer, const std::vector<double>& tokens) {
  const std::size_t dim = layer.dim, n = tokens.size() / dim;
  Naive all{Reals(n * dim, 0), Reals(n * dim, 0), {}};
  for (const Head& head : layer.heads) {
    all.weights.push_back(dense_weights(layer, head, tokens));
    Dense& p = all.weights.back();
    std::vector<Reals> v;
    for (std::size_t j = 0; j < n; ++j) v.push_back(times(head.value, &tokens[j * dim], dim));
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j)
        for (std::size_t a = 0; a < dim; ++a) {
          all.out[i * dim + a] += p(i, j) * v[j][a];
          all.pull[i * dim + a] += p(i, j) * (v[j][a] - v[i][a]);
        }
  }
  if (layer.output.empty()) return all;
  for (Reals* rows : {&all.out, &all.pull})
    for (std::size_t i = 0; i < n; ++i) {
      const Reals old(&(*rows)[i * dim], &(*rows)[i * dim] + dim);
      for (std::size_t a = 0; a < dim; ++a)
        (*rows)[i * dim + a] =
            std::inner_product(old.begin(), old.end(), &layer.output[a * dim], Real{0});
    }
  return all;
}

double largest(const Reals& values) {
  Real top = 1;
  for (const Real v : values) top = std::max(top, std::abs(v));
  return static_cast<double>(top);
}

void expect_rows(const std::vector<double>& got, const Reals& want, double tolerance,
                 const std::string& where) {
  ASSERT_EQ(got.size(), want.size());
  const double scale = largest(want);
  for (std::size_t k = 0; k < got.size(); ++k)
    ASSERT_NEAR(got[k] / scale, static_cast<double>(want[k]) / scale, tolerance)
        << where << ", entry " << k;
}

void expect_like_naive(const AttentionLayer& layer, const std::vector<double>& tokens,
                       const std::string& where) {
  const std::size_t n = tokens.size() / layer.dim, heads = layer.heads.size();
  const double tolerance = layer.rule == Rule::sinkhorn ? 3e-12 : 1e-13;
  const LayerOutput got =
      attended(layer, tokens, {.entropy = true, .chosen = true, .matrix = true});
  Naive want = naive(layer, tokens);
  ASSERT_EQ(got.status, LayerStatus::complete) << where;
  ASSERT_EQ(got.log_scale, 0) << where;
  expect_rows(got.out, want.out, tolerance, where + ", out");
  expect_rows(got.pull, want.pull, tolerance, where + ", pull");
  for (std::size_t h = 0; h < heads; ++h) {
    Dense& p = want.weights[h];
    expect_rows({&got.matrix[h * n * n], &got.matrix[h * n * n] + n * n}, p.weights, tolerance,
                where + ", weights");
    for (std::size_t i = 0; i < n; ++i) {
      Real sum = 0, size = 0, entropy = 0;
      for (std::size_t j = 0; j < n; ++j) sum += p(i, j), size += std::abs(p(i, j));
      for (std::size_t j = 0; j < n; ++j)
        if (p(i, j) != 0) entropy -= std::abs(p(i, j)) / size * std::log(std::abs(p(i, j)) / size);
      const std::size_t slot = i * heads + h;
      ASSERT_NEAR(got.row_sum[slot], static_cast<double>(sum),
                  tolerance * std::max(1.0, static_cast<double>(size)))
          << where;
      ASSERT_NEAR(got.entropy[slot], static_cast<double>(entropy), 50 * tolerance) << where;
      Real most = -HUGE_VALL;
      for (std::size_t j = 0; j < n; ++j)
        if (p.seen[i * n + j]) most = std::max(most, p(i, j));
      ASSERT_NEAR(static_cast<double>(p(i, got.chosen[slot])), static_cast<double>(most),
                  tolerance * std::max(1.0, static_cast<double>(size)))
          << where;
    }
  }
}

// ---- Tables of cases.

struct NamedMask {
  const char* name;
  Mask mask;
};

const std::vector<NamedMask> kMasks = {
    {"full", {}},
    {"causal", {.causal = true}},
    {"window 2", {.window = 2}},
    {"window 0", {.window = 0}},
    {"causal window 3", {.causal = true, .window = 3}},
    {"full alibi", {.slope = 0.3}},
    {"causal window alibi", {.causal = true, .window = 4, .slope = 0.7}}};

struct NamedHeads {
  const char* name;
  std::vector<Head> heads;
  std::vector<double> output;
};

std::vector<NamedHeads> head_cases(std::size_t dim) {
  const Head shared{
      .query = normals("shared", 2, dim), .key = normals("shared", 2, dim), .value = {}};
  const Head values_only{.query = {}, .key = {}, .value = normals("v", dim, dim)};
  const Head key_only{.query = {}, .key = normals("k", dim, dim), .value = {}};
  return {{"identity", {Head{}}, {}},
          {"full rank", {random_head("a", dim, dim)}, normals("o", dim, dim)},
          {"rank 1 and 2", {random_head("b", 1, dim), random_head("c", 2, dim)}, {}},
          {"three heads", {shared, values_only, key_only}, normals("o", dim, dim)}};
}

TEST(AttentionLayer, EqualsTheTextbookForEveryRuleMaskAndHead) {
  constexpr std::size_t kDim = 3;
  const std::vector<double> tokens = unit_rows(normals("tokens", 11, kDim), kDim);
  for (AttentionLayer layer : rule_cases(kDim))
    for (const NamedMask& mask : kMasks)
      for (const NamedHeads& heads : head_cases(kDim)) {
        if (layer.rule == Rule::sinkhorn && mask.mask.causal) continue;
        layer.mask = mask.mask;
        layer.heads = heads.heads;
        layer.output = heads.output;
        expect_like_naive(layer, tokens,
                          std::string(name(layer.rule)) + " " + std::string(name(layer.kernel)) +
                              ", " + mask.name + ", " + heads.name);
        if (HasFatalFailure()) return;
      }
}

// Sizes around the 64 rows of a tile and the 512 columns of a block.
TEST(AttentionLayer, EqualsTheTextbookAcrossTilesAndBlocks) {
  struct Size {
    std::size_t n, dim;
    Mask mask;
  };
  for (const Size& s : {Size{1, 1, {}}, Size{2, 5, {.causal = true}}, Size{65, 2, {.window = 7}},
                        Size{129, 1, {.causal = true, .window = 70}}, Size{515, 2, {}}}) {
    AttentionLayer layer{.beta = 1.5, .dim = s.dim, .heads = {random_head("s", 1, s.dim)}};
    layer.mask = s.mask;
    expect_like_naive(layer, normals("sized", s.n, s.dim), "n = " + std::to_string(s.n));
    if (HasFatalFailure()) return;
  }
}

TEST(AttentionLayer, SoftmaxWithOneHeadEqualsAttentionSums) {
  constexpr std::size_t kTokens = 97, kDim = 4;
  const std::vector<double> tokens = unit_rows(normals("tokens", kTokens, kDim), kDim);
  for (const Head& head : {Head{}, random_head("one", kDim, kDim)})
    for (const double beta : {0.0, 2.0, 50.0}) {
      const AttentionLayer layer{.beta = beta, .dim = kDim, .heads = {head}};
      const LayerOutput got = attended(layer, tokens, {.entropy = true});
      Attention reference{.beta = beta, .dim = kDim};
      reference.query = head.query, reference.key = head.key, reference.value = head.value;
      AttentionSums sums;
      attend(reference, tokens, std::vector<double>(kTokens, 1.0), {.moment = true}, sums);
      for (std::size_t i = 0; i < kTokens; ++i) {
        const auto z = sums.partition(i, 1);
        EXPECT_NEAR(got.entropy[i], sums.entropy(i, 1), 1e-12);
        for (std::size_t a = 0; a < kDim; ++a)
          ASSERT_NEAR(got.pull[i * kDim + a],
                      std::exp(sums.peak[i] - z.top) * sums.pull[i * kDim + a] / z.scaled, 3e-13);
      }
    }
}

// A cluster of size 1e-9: a product of matrices would leave 7 digits of the pull.
TEST(AttentionLayer, PullIsAccurateInsideClusters) {
  constexpr std::size_t kTokens = 70, kDim = 3;
  std::vector<double> tokens = normals("tokens", kTokens, kDim);
  for (std::size_t k = 0; k < tokens.size(); ++k) tokens[k] = 1e-9 * tokens[k] + (k % kDim == 0);
  for (const Rule rule : {Rule::softmax, Rule::unnormalised, Rule::radial}) {
    const AttentionLayer layer{.rule = rule, .beta = 4, .dim = kDim};
    const LayerOutput got = attended(layer, tokens);
    const Naive want = naive(layer, tokens);
    for (std::size_t k = 0; k < tokens.size(); ++k)
      ASSERT_NEAR(got.pull[k] * 1e9, static_cast<double>(want.pull[k]) * 1e9, 1e-12);
  }
}

TEST(AttentionLayer, UnnormalisedWeightsNeverOverflow) {
  constexpr std::size_t kTokens = 20, kDim = 3;
  const std::vector<double> tokens = unit_rows(normals("tokens", kTokens, kDim), kDim);
  const AttentionLayer plain{.rule = Rule::unnormalised, .beta = 1e4, .dim = kDim};
  const LayerOutput out = attended(plain, tokens);
  EXPECT_EQ(out.status, LayerStatus::complete);
  EXPECT_NEAR(out.log_scale, 1e4, 1e-10);
  for (const double sum : out.row_sum) EXPECT_NEAR(sum, 1.0 / kTokens, 1e-9);

  // Two heads whose largest logits differ by 10: their ratio survives the common scale.
  AttentionLayer two = plain;
  two.beta = 1000;
  const double lesser = std::sqrt(0.99);
  two.heads.push_back({.query = {lesser, 0, 0, 0, lesser, 0, 0, 0, lesser},
                       .key = {lesser, 0, 0, 0, lesser, 0, 0, 0, lesser},
                       .value = {}});
  const LayerOutput both = attended(two, {1, 0, 0, 0, 1, 0, 0, 0, 1});
  EXPECT_EQ(both.log_scale, 1000);
  EXPECT_NEAR(both.row_sum[1] / both.row_sum[0], std::exp(-10.0), 1e-16);

  // Just above the switch, against long double, whose exponentials reach e^{11000}.
  AttentionLayer above = plain;
  above.beta = 601;
  const LayerOutput got = attended(above, tokens);
  const Naive want = naive(above, tokens);
  EXPECT_NEAR(got.log_scale, 601, 1e-12);
  for (std::size_t k = 0; k < tokens.size(); ++k)
    ASSERT_NEAR(got.out[k], static_cast<double>(want.out[k] * std::exp(-Real{got.log_scale})),
                1e-13);
}

}  // namespace
}  // namespace attractor
