#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "attractor/attention/attention_layer.hpp"
#include "attractor/base/error.hpp"
#include "attractor/base/random.hpp"
#include "attractor/base/threads.hpp"
#include "tests/support/layer_data.hpp"

namespace attractor {
namespace {

TEST(AttentionLayerProperties, FirstCausalTokenSeesItselfOnly) {
  const std::vector<double> tokens = unit_rows(normals("tokens", 9, 3), 3);
  for (AttentionLayer layer : rule_cases(3)) {
    if (layer.rule == Rule::sinkhorn) continue;
    layer.mask.causal = true;
    for (const double beta : {0.0, 3.0, 1e5}) {
      layer.beta = beta;
      const LayerOutput out = attended(layer, tokens, {.matrix = true});
      ASSERT_EQ(out.status, LayerStatus::complete);
      for (std::size_t a = 0; a < 3; ++a) EXPECT_EQ(out.pull[a], 0) << name(layer.rule);
      for (std::size_t j = 1; j < 9; ++j) EXPECT_EQ(out.matrix[j], 0);
      EXPECT_EQ(out.matrix[0], layer.rule == Rule::softmax ? 1 : out.row_sum[0]);
    }
  }
}

TEST(AttentionLayerProperties, FullMaskIsPermutationEquivariant) {
  constexpr std::size_t kTokens = 73, kDim = 3;
  const std::vector<double> x = unit_rows(normals("tokens", kTokens, kDim), kDim);
  std::vector<double> y(x.size());
  const auto moved = [](std::size_t i) { return (i * 31 + 7) % kTokens; };
  for (std::size_t k = 0; k < x.size(); ++k) y[moved(k / kDim) * kDim + k % kDim] = x[k];
  for (AttentionLayer layer : rule_cases(kDim)) {
    layer.heads = {random_head("p", 2, kDim), Head{}};
    const LayerOutput a = attended(layer, x), b = attended(layer, y);
    for (std::size_t k = 0; k < x.size(); ++k)
      ASSERT_NEAR(a.out[k], b.out[moved(k / kDim) * kDim + k % kDim], 5e-12) << name(layer.rule);
  }
}

TEST(AttentionLayerProperties, NumberOfThreadsNeverShows) {
  constexpr std::size_t kTokens = 150, kDim = 5;
  const std::vector<double> tokens = unit_rows(normals("tokens", kTokens, kDim), kDim);
  const std::size_t before = threads();
  for (AttentionLayer layer : rule_cases(kDim)) {
    layer.heads = {random_head("t", 3, kDim), Head{}};
    layer.beta = 0.3;
    std::vector<LayerOutput> runs;
    for (const std::size_t count : {1U, 2U, 3U}) {
      set_threads(count);
      runs.push_back(attended(layer, tokens, {.entropy = true}));
    }
    for (const LayerOutput& run : runs) {
      EXPECT_EQ(run.out, runs[0].out) << name(layer.rule);
      EXPECT_EQ(run.pull, runs[0].pull);
      EXPECT_EQ(run.entropy, runs[0].entropy);
    }
  }
  set_threads(before);
}

TEST(AttentionLayerProperties, TokensOutOfRangeAreReported) {
  for (const double value : {HUGE_VAL, std::nan(""), 1e200})
    for (AttentionLayer layer : rule_cases(2)) {
      const LayerOutput out = attended(layer, {1, 0, value, 0});
      EXPECT_EQ(out.status, LayerStatus::not_finite) << name(layer.rule);
    }
}

void expect_refused(const AttentionLayer& layer, const std::string& part) {
  try {
    attended(layer, std::vector<double>(12, 0.5));
    ADD_FAILURE() << "accepted, but should say: " << part;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(AttentionLayerProperties, RefusesWhatDoesNotFit) {
  const AttentionLayer good{.dim = 3};
  const auto changed = [&](auto change) {
    AttentionLayer layer = good;
    change(layer);
    return layer;
  };
  const std::vector<double> four(4, 1.0), six(6, 1.0), three(3, 1.0), twelve(12, 1.0);
  using L = AttentionLayer&;
  expect_refused(changed([](L l) { l.dim = 0; }), "dim = 0");
  expect_refused(changed([](L l) { l.dim = 5; }), "12 numbers are no tokens of dim = 5");
  expect_refused(changed([](L l) { l.heads.clear(); }), "1 head or more");
  expect_refused(changed([&](L l) { l.output = six; }), "output matrix has 6 entries");
  expect_refused(changed([&](L l) { l.heads[0].value = six; }), "value matrix has 6 entries");
  expect_refused(changed([&](L l) { l.heads[0].query = four; }), "has 4 entries");
  expect_refused(changed([&](L l) { l.heads[0].key = twelve; }), "has 12 entries");
  expect_refused(changed([&](L l) { l.heads[0].key = six; }), "rank 3 and the key matrix 2");
  expect_refused(changed([&](L l) { l.heads[0].query = six, l.heads[0].key = three; }), "rank 2");
  expect_refused(changed([](L l) { l.beta = HUGE_VAL; }), "beta = inf");
  expect_refused(changed([](L l) { l.beta = -1, l.rule = Rule::radial; }), "beta = -1");
  expect_refused(changed([](L l) { l.mask.slope = -1; }), "slope = -1");
  expect_refused(changed([](L l) { l.tie_tolerance = 1; }), "tie tolerance = 1");
  expect_refused(changed([](L l) { l.sinkhorn.tolerance = 0; }), "sinkhorn tolerance = 0");
  expect_refused(changed([](L l) { l.sinkhorn.max_iterations = 0; }), "sinkhorn iterations = 0");
  expect_refused(changed([](L l) { l.output.assign(9, std::nan("")); }), "no finite number");
  expect_refused(changed([](L l) { l.rule = Rule::sinkhorn, l.mask.causal = true; }),
                 "causal mask");
  LayerOutput out;
  EXPECT_THROW(attend(good, std::vector<double>(15000), {.matrix = true}, out), Error);
}

}  // namespace
}  // namespace attractor
