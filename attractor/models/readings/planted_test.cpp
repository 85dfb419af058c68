// Readings of stacks whose truth is known.
#include <gtest/gtest.h>

#include <cmath>

#include "attractor/models/planted_model.hpp"
#include "attractor/models/readings/text_reading.hpp"
#include "attractor/reductions/equiangular.hpp"

namespace attractor::models {
namespace {

TextReading reading_of(const Planted& p, std::span<const double> directions,
                       ReadingOptions options = {}) {
  return read_text(planted_model(p, directions), all_tokens(p.tokens), options);
}

TEST(PlantedStack, BetaOfEveryHeadIsRecovered) {
  const std::vector<double> betas = {0.5, 4, -2, 30};
  for (const NormPlace place : {NormPlace::post, NormPlace::pre})
    for (const bool causal : {false, true}) {
      const Planted p{.betas = betas, .place = place, .causal = causal};
      const TextReading r = reading_of(p, tokens_with_cosine(p.tokens, p.dim, 0.3, 7));
      for (const LayerReading& layer : r.layers) {
        for (std::size_t h = 0; h < betas.size(); ++h) {
          EXPECT_NEAR(layer.heads[h].beta, betas[h], 0.02 * std::abs(betas[h]));
          EXPECT_GT(layer.heads[h].r2, 0.999);
          EXPECT_NEAR(layer.heads[h].antisymmetric, 0, 1e-6);
          EXPECT_NEAR(layer.heads[h].own, 0, 1e-3);
        }
        EXPECT_NEAR(layer.beta, 8.125, 0.02 * 8.125);
      }
    }
}

TEST(PlantedStack, BetaIsRecoveredBesideNoiseWithinItsError) {
  // Noise of the size of the signal: half of the variance within rows.
  int within = 0, heads = 0;
  double r2 = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Planted p{.tokens = 48, .layers = 1, .betas = {3, 6}, .noise = 16, .seed = seed};
    const TextReading r = reading_of(p, tokens_with_cosine(p.tokens, p.dim, 0.2, seed));
    for (std::size_t h = 0; h < 2; ++h) {
      const HeadFit& fit = r.layers[0].heads[h];
      within += std::abs(fit.beta - p.betas[h]) <= 2 * fit.error;
      ++heads;
      r2 += fit.r2 / 40;
      EXPECT_NEAR(fit.antisymmetric, 0.25, 0.1);  // half of the noise, which is half of all
    }
  }
  EXPECT_NEAR(r2, 0.5, 0.1);
  // 95 % of 40 on average; 32 or fewer once in 10^5 times.
  EXPECT_GT(within, 32) << heads;
}

TEST(PlantedStack, EffectiveTimeIsTheStep) {
  for (const double rho : {0.05, 0.4, 0.8})
    for (const double beta : {0.5, 2.0, 6.0})
      for (const double value : {1.0, 0.5, -1.0}) {
        const Planted p{.dim = 384, .layers = 2, .betas = {beta}, .step = 0.02, .value = value};
        const TextReading r = reading_of(p, tokens_with_cosine(p.tokens, p.dim, rho, 3));
        for (const LayerReading& layer : r.layers)
          EXPECT_NEAR(layer.time, 0.02 * value, 0.05 * 0.02 * std::abs(value))
              << rho << ' ' << beta << ' ' << value;
      }
}

TEST(PlantedStack, TimeOfPreNormSlowsDownWithTheStream) {
  const Planted p{.dim = 384, .layers = 40, .betas = {2}, .step = 0.05, .place = NormPlace::pre};
  const TextReading r = reading_of(p, tokens_with_cosine(p.tokens, p.dim, 0.2, 5));
  // The exact length of the stream after depth t, from the reduction to equiangular tokens.
  const meanfield::EquiangularFlow flow(
      {.tokens = 32, .beta = 2, .cosine0 = r.cosine(0), .norm = Normalisation::pre});
  for (std::size_t k = 0; k < p.layers; k += 5) {
    const double depth = 0.05 * (static_cast<double>(k) + 0.5);
    const double length = flow.at(std::log(depth)).norm();
    EXPECT_NEAR(r.layers[k].time, 0.05 / length, 0.05 * 0.05 / length) << k;
    EXPECT_NEAR(r.states[k].length,
                std::sqrt(384.0) * flow.at(std::log(0.05 * static_cast<double>(k) + 1e-12)).norm(),
                0.03 * r.states[k].length);
  }
}

TEST(PlantedStack, TheNextCosineIsPredicted) {
  for (const NormPlace place : {NormPlace::post, NormPlace::pre}) {
    const Planted p{.dim = 512, .betas = {3}, .step = 0.5, .place = place};
    const TextReading r = reading_of(p, tokens_with_cosine(p.tokens, p.dim, 0.1, 9));
    for (std::size_t k = 0; k < p.layers; ++k) {
      EXPECT_NEAR(r.layers[k].predicted, r.cosine(k + 1), 0.01) << k;
      EXPECT_GT(std::abs(r.cosine(k + 1) - r.cosine(k)), 0.02);  // something to predict
    }
  }
}

// ---- The cluster tree.

/// The same layers in double precision, plainly: who is linked with whom after each.
std::vector<std::vector<std::uint32_t>> plain_labels(const Planted& p, std::vector<double> x,
                                                     double threshold) {
  const std::size_t n = p.tokens, d = p.dim;
  const auto cosine = [&](std::size_t i, std::size_t j) {
    double sum = 0;
    for (std::size_t a = 0; a < d; ++a) sum += x[i * d + a] * x[j * d + a];
    return sum;
  };
  std::vector<std::vector<std::uint32_t>> all;
  for (std::size_t layer = 0;; ++layer) {
    std::vector<std::uint32_t> label(n, 1000);
    std::uint32_t next = 0;
    for (std::size_t i = 0; i < n; ++i) {
      if (label[i] != 1000) continue;
      std::vector<std::size_t> open = {i};
      while (!open.empty()) {
        const std::size_t k = open.back();
        open.pop_back();
        label[k] = next;
        for (std::size_t j = 0; j < n; ++j)
          if (label[j] == 1000 && cosine(k, j) >= threshold) open.push_back(j);
      }
      ++next;
    }
    all.push_back(label);
    if (layer == p.layers) return all;
    std::vector<double> moved = x;
    for (std::size_t i = 0; i < n; ++i) {
      double sum = 0;
      std::vector<double> mean(d, 0.0);
      for (std::size_t j = 0; j < n; ++j) {
        const double w = std::exp(p.betas[0] * cosine(i, j));
        sum += w;
        for (std::size_t a = 0; a < d; ++a) mean[a] += w * x[j * d + a];
      }
      double squares = 0;
      for (std::size_t a = 0; a < d; ++a) {
        moved[i * d + a] += p.step * mean[a] / sum;
        squares += moved[i * d + a] * moved[i * d + a];
      }
      for (std::size_t a = 0; a < d; ++a) moved[i * d + a] /= std::sqrt(squares);
    }
    x = moved;
  }
}

TEST(PlantedStack, ClusterTreeIsExact) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    // Random tokens on a sphere of few dimensions: they gather little by little.
    Planted p{.tokens = 24, .dim = 4, .layers = 60, .betas = {6}, .step = 0.3};
    std::vector<double> x(p.tokens * p.dim);
    const Stream stream(seed, "cluster tree test");
    for (std::size_t i = 0; i < p.tokens; ++i) {
      const auto row = std::span(x).subspan(i * p.dim, p.dim);
      stream.normals(i, row);
      double squares = 0;
      for (const double c : row) squares += c * c;
      for (double& c : row) c /= std::sqrt(squares);
    }
    ReadingOptions options;
    options.cluster_cosine = 0.95;
    const TextReading r = reading_of(p, x, options);
    const auto truth = plain_labels(p, x, 0.95);
    ASSERT_EQ(r.tree.labels(), truth) << seed;
    EXPECT_GT(r.tree.clusters(0), r.tree.clusters(p.layers) + 5);  // something happens
    // Joins without splits: the merges are those of the labels, one fewer than clusters that went.
    const std::vector<ClusterMerge> merges = r.tree.merges();
    const auto clusters = [&](std::size_t k) { return r.tree.clusters(k); };
    EXPECT_EQ(merges.size(), p.tokens - clusters(p.layers));
    for (const ClusterMerge& m : merges) {
      const auto layer = static_cast<std::size_t>(m.layer);
      if (layer > 0) {
        EXPECT_NE(truth[layer], truth[layer - 1]);
      }
    }
  }
}

}  // namespace
}  // namespace attractor::models
