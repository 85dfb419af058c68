#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "attractor/base/random.hpp"
#include "attractor/models/nulls.hpp"
#include "attractor/models/pass.hpp"
#include "attractor/models/planted_model.hpp"
#include "attractor/models/readings/cluster_tree.hpp"
#include "attractor/models/readings/head_fit.hpp"
#include "attractor/models/readings/head_spectra.hpp"
#include "attractor/models/readings/layer_map.hpp"
#include "attractor/models/readings/sentence_cosines.hpp"
#include "attractor/models/readings/text_reading.hpp"
#include "tests/support/random_model.hpp"
#include "tests/support/refusal.hpp"

namespace attractor::models {
namespace {

const auto kAll = [](std::size_t, std::size_t) { return true; };

/// Logits made of parts that are known.
struct PlantedHead {
  std::size_t n = 30;
  double beta = 0, position = 0, key = 0, row = 0, noise = 0;

  std::vector<double> cosines() const {
    std::vector<double> c(n * n);
    const Stream stream(1, "head cosines");
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j <= i; ++j)
        c[i * n + j] = c[j * n + i] = i == j ? 1 : 0.3 * stream.normal(i, j);
    return c;
  }
  std::vector<double> logits() const {
    std::vector<double> l = cosines();
    const Stream stream(2, "head parts");
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        double& x = l[i * n + j];
        x = beta * x +
            position * std::cos(0.7 * (static_cast<double>(j) - static_cast<double>(i))) +
            key * stream.normal(0, j) + row * stream.normal(1, i) + noise * stream.normal(2 + i, j);
      }
    return l;
  }
};

TEST(HeadFit, TellsWhatLogitsAreMadeOf) {
  const auto fit = [](const PlantedHead& h) {
    return fit_head(h.logits(), h.cosines(), h.n, kAll);
  };
  HeadFit f = fit({.beta = 3, .row = 10});
  EXPECT_NEAR(f.beta, 3, 1e-12);
  EXPECT_NEAR(f.r2, 1, 1e-12);
  EXPECT_NEAR(f.own, 0, 1e-12);
  f = fit({.position = 2, .row = 1});
  EXPECT_NEAR(f.position, 1, 1e-9);
  EXPECT_LT(f.r2, 0.05);
  EXPECT_NEAR(f.antisymmetric, 0, 1e-9);
  f = fit({.key = 2});
  EXPECT_NEAR(f.key, 1, 1e-9);
  EXPECT_LT(f.r2, 0.05);
  f = fit({.beta = 3, .position = 1, .key = 1});
  EXPECT_NEAR(f.together, 1, 1e-3);
  EXPECT_LT(std::max({f.r2, f.position, f.key}), 0.8);
  f = fit({.noise = 1});
  EXPECT_NEAR(f.antisymmetric, 0.5, 0.1);
  EXPECT_LT(f.r2, 0.02);
  EXPECT_LT(std::abs(f.beta), 4 * f.error);
}

TEST(HeadFit, SaysNothingWhereNothingVaries) {
  const std::vector<double> same(9, 0.5), logits = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  EXPECT_TRUE(std::isnan(fit_head(logits, same, 3, kAll).beta));
  EXPECT_TRUE(std::isnan(fit_head({logits.data(), 1}, {same.data(), 1}, 1, kAll).beta));
}

TEST(HeadUse, MeasuresEntropyAndSinks) {
  // Causal: token i looks at the first with weight a, at itself with the rest.
  const std::size_t n = 5;
  std::vector<double> p(n * n, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    p[i * n] = i == 0 ? 1 : 0.25;
    if (i > 0) p[i * n + i] = 0.75;
  }
  const HeadUse use = use_of_head(p, n, [](std::size_t i, std::size_t j) { return j <= i; });
  const double h = -0.25 * std::log(0.25) - 0.75 * std::log(0.75);
  EXPECT_NEAR(use.entropy, 4 * h / 5, 1e-12);
  EXPECT_NEAR(use.entropy_ratio,
              (h / std::log(2) + h / std::log(3) + h / std::log(4) + h / std::log(5)) / 4, 1e-12);
  EXPECT_NEAR(use.own, (1 + 4 * 0.75) / 5, 1e-12);
  EXPECT_EQ(use.sink_token, 4U);  // seen by itself alone, which gives it 0.75
  EXPECT_NEAR(use.sink, 0.75, 1e-12);
}

// ---- Spectra.

Layer layer_with(std::size_t d, const std::vector<float>& q, const std::vector<float>& k,
                 const std::vector<float>& v, const std::vector<float>& o) {
  Layer l;
  l.query.weights = kernels::PackedMatrix(q, d, d);
  l.key.weights = kernels::PackedMatrix(k, d, d);
  l.value.weights = kernels::PackedMatrix(v, d, d);
  l.output.weights = kernels::PackedMatrix(o, d, d);
  return l;
}

TEST(HeadSpectra, OfKnownMatrices) {
  const std::size_t d = 4;
  const Architecture a{.width = d, .heads = 1, .key_heads = 1, .head_dim = d};
  // A quarter turn in two planes, and minus the identity.
  const std::vector<float> turn = {0, -1, 0, 0, 1, 0, 0, 0, 0, 0, 0, -1, 0, 0, 1, 0};
  const HeadSpectra s = spectra(
      a, layer_with(d, scaled_identity(d, 2), turn, scaled_identity(d, -3), scaled_identity(d, 1)),
      0);
  EXPECT_NEAR(s.logits.antisymmetric, 1, 1e-12);
  EXPECT_NEAR(s.logits.rotation, 1, 1e-12);
  EXPECT_NEAR(s.logits.radius, 1, 1e-12);  // 2 / sqrt 4
  EXPECT_NEAR(s.logits.size, 2, 1e-12);
  EXPECT_NEAR(s.values.antisymmetric, 0, 1e-12);
  EXPECT_NEAR(s.values.positive, 0, 1e-12);
  EXPECT_NEAR(s.values.trace, -12, 1e-12);
  EXPECT_NEAR(s.values.radius, 3, 1e-12);
}

TEST(HeadSpectra, OfRandomHeadsHaveNoPreference) {
  const Model m = random_model(Family::gpt2, 2);
  double antisymmetric = 0;
  for (std::size_t h = 0; h < 3; ++h)
    antisymmetric += spectra(m.architecture, m.layers[0], h).values.antisymmetric / 3;
  EXPECT_NEAR(antisymmetric, 0.5, 0.25);
  EXPECT_EQ(spectra(m.architecture, m.layers[0], 0).logits.eigenvalues.size(), 4U);
}

// ---- The theory's layer.

TEST(LayerMap, TimesAddUpAndTurnRound) {
  const LayerPlace place{.tokens = 50, .cosine = 0.1, .beta = 3};
  const double whole = effective_time(place, 0.5);
  const double parts =
      effective_time(place, 0.3) + effective_time({.tokens = 50, .cosine = 0.3, .beta = 3}, 0.5);
  EXPECT_NEAR(whole, parts, 1e-10);
  EXPECT_NEAR(effective_time({.tokens = 50, .cosine = 0.5, .beta = 3}, 0.1), -whole, 1e-12);
  EXPECT_EQ(effective_time(place, 0.1), 0);
  EXPECT_TRUE(std::isnan(effective_time(place, -0.5)));
  // A thin layer moves by its step.
  LayerPlace thin = place;
  thin.step = 1e-4;
  EXPECT_NEAR(effective_time(place, predicted_cosine(thin)), 1e-4, 1e-7);
  // Equal tokens are written as they are.
  EXPECT_NEAR(written_length({.tokens = 50, .cosine = 0.999999, .beta = 3}), 1, 1e-5);
}

TEST(LayerMap, HeadsTogetherMoveTokensAsTheirJointBetaDoes) {
  const double n = 40, g = 0.3;
  const auto weight = [&](double beta) { return 1 / (std::exp(beta * (1 - g)) + n - 1); };
  const std::vector<double> betas = {0, 3, 12, -1};
  double mean = 0;
  for (const double b : betas) mean += weight(b) / 4;
  EXPECT_NEAR(weight(joint_beta(betas, n, g)), mean, 1e-15);
  EXPECT_NEAR(joint_beta(std::vector<double>{5, 5}, n, g), 5, 1e-9);
  // Two heads that see others hardly at all: half of the smaller one's weight.
  EXPECT_NEAR(joint_beta(std::vector<double>{2000, 3000}, n, g), 2000 + std::log(2) / 0.7, 1e-9);
}

// ---- Clusters.

TEST(ClusterTree, TellsJoinsAndSplitsAndSinceWhen) {
  ClusterTree tree;
  tree.add({0, 1, 2, 3, 4});
  tree.add({0, 0, 1, 1, 2});  // 0 1 and 2 3 join
  tree.add({0, 0, 0, 1, 2});  // 2 leaves 3 and joins 0 1
  tree.add({0, 0, 0, 0, 1});  // 3 joins them
  ASSERT_EQ(tree.events().size(), 5U);
  EXPECT_TRUE(tree.events()[2].join);
  EXPECT_EQ(tree.events()[2].layer, 2U);
  EXPECT_EQ(tree.events()[2].tokens, 3U);
  EXPECT_FALSE(tree.events()[3].join);
  EXPECT_EQ(tree.events()[3].clusters, (std::vector<std::uint32_t>{0, 1}));
  const std::vector<ClusterMerge> merges = tree.merges();
  ASSERT_EQ(merges.size(), 3U);
  EXPECT_EQ(merges[0].layer, 1);  // 0 and 1
  EXPECT_EQ(merges[1].layer, 2);  // with 2: its time with 3 does not count
  EXPECT_EQ(merges[1].left, 2U);
  EXPECT_EQ(merges[1].right, 5U);
  EXPECT_EQ(merges[2].layer, 3);
  EXPECT_EQ(merges[2].size, 4U);
}

// ---- Baselines.

TEST(SentenceCosines, AreTheMeansOverPairs) {
  const std::vector<std::vector<double>> sentences = {
      {1, 0, 0.6, 0.8}, {0, 1, 0.8, 0.6, -1, 0}, {0.6, -0.8}};
  SentenceCosines all(2);
  for (const auto& s : sentences) all.add(s);
  double across = 0, pairs = 0;
  for (std::size_t s = 0; s < 3; ++s)
    for (std::size_t t = 0; t < 3; ++t)
      for (std::size_t i = 0; s != t && i < sentences[s].size(); i += 2)
        for (std::size_t j = 0; j < sentences[t].size(); j += 2) {
          across += sentences[s][i] * sentences[t][j] + sentences[s][i + 1] * sentences[t][j + 1];
          pairs += 1;
        }
  EXPECT_NEAR(all.across(0.95, 0).mean, across / pairs, 1e-12);
  EXPECT_NEAR(all.within(0), 0.6, 1e-12);
  EXPECT_NEAR(all.within(1), (2 * (0.6 + 0 + -0.8)) / 6, 1e-12);
  EXPECT_NEAR(all.within(0.95, 0).mean, (0.6 - 0.2 / 3) / 2,
              1e-12);  // a sentence of one token says nothing
  EXPECT_NEAR(all.excess(0.95, 0).mean, all.within(0.95, 0).mean - across / pairs, 1e-12);
}

TEST(SentenceCosines, BandsHoldTheTruthAsOftenAsTheySay) {
  // Sentences around a common direction: the cosine between them is rho.
  int held = 0;
  constexpr int kSamples = 200;
  for (std::uint64_t sample = 0; sample < kSamples; ++sample) {
    SentenceCosines all(64);
    for (std::uint64_t s = 0; s < 30; ++s) {
      const Stream stream(1000 * sample + s, "band test");
      std::vector<double> tokens(5 * 64);
      stream.normals(0, tokens);
      for (std::size_t i = 0; i < 5; ++i) {
        const auto x = std::span(tokens).subspan(i * 64, 64);
        x[0] = 0;
        double squares = 0;
        for (const double c : x) squares += c * c;
        for (double& c : x) c *= std::sqrt(0.8 / squares);
        x[0] = std::sqrt(0.2);
      }
      all.add(tokens);
    }
    const Band band = all.across(0.9, sample);
    held += band.low <= 0.2 && 0.2 <= band.high;
  }
  // Pairs of few sentences make such bands a little wide or narrow; 90 % is meant.
  EXPECT_GE(held, kSamples * 80 / 100);
  EXPECT_LE(held, kSamples * 98 / 100);
}

// ---- Nulls.

TEST(Nulls, KeepEntriesOrSingularValues) {
  const Model m = random_model(Family::qwen2, 9);
  const Model shuffled = null_model(m, Null::shuffled, 1),
              redrawn = null_model(m, Null::redrawn, 1);
  const auto sorted = [](const Linear& l) {
    std::vector<float> w = l.weights.unpacked();
    std::sort(w.begin(), w.end());
    return w;
  };
  const auto squares = [](const Linear& l) {
    double sum = 0;
    for (const float x : l.weights.unpacked())
      sum += static_cast<double>(x) * static_cast<double>(x);
    return sum;
  };
  // tr (W W^T)^2 beside tr W W^T: two moments of the singular values.
  const auto fourth = [](const Linear& l) {
    const std::vector<float> w = l.weights.unpacked();
    const std::size_t n = l.weights.outputs(), d = l.weights.inputs();
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        double g = 0;
        for (std::size_t a = 0; a < d; ++a)
          g += static_cast<double>(w[i * d + a]) * static_cast<double>(w[j * d + a]);
        sum += g * g;
      }
    return sum;
  };
  for (const auto part : {&Layer::query, &Layer::output, &Layer::up, &Layer::down}) {
    const Linear& w = m.layers[1].*part;
    EXPECT_EQ(sorted(shuffled.layers[1].*part), sorted(w));
    EXPECT_NE((shuffled.layers[1].*part).weights.unpacked(), w.weights.unpacked());
    EXPECT_NEAR(squares(redrawn.layers[1].*part), squares(w), 1e-5 * squares(w));
    EXPECT_NEAR(fourth(redrawn.layers[1].*part), fourth(w), 1e-5 * fourth(w));
    EXPECT_NE((redrawn.layers[1].*part).weights.unpacked(), w.weights.unpacked());
  }
  EXPECT_EQ(redrawn.words, m.words);
  EXPECT_EQ(null_model(m, Null::redrawn, 1).layers[0].key.weights.unpacked(),
            redrawn.layers[0].key.weights.unpacked());
  EXPECT_NE(null_model(m, Null::redrawn, 2).layers[0].key.weights.unpacked(),
            redrawn.layers[0].key.weights.unpacked());
}

TEST(Nulls, TurnsAreUniform) {
  // Where e_0 goes: every coordinate has the variance 1/n, and its fourth moment is that of a
  // uniform point of the sphere, 3 / (n (n + 2)).
  constexpr std::size_t kDim = 16;
  double second = 0, fourth = 0;
  constexpr int kDraws = 400;
  Model m = random_model(Family::gpt2, 1);
  for (int draw = 0; draw < kDraws; ++draw) {
    m.layers[0].query.weights = kernels::PackedMatrix(scaled_identity(kDim, 1), kDim, kDim);
    const Model turned = null_model(m, Null::redrawn, static_cast<std::uint64_t>(draw));
    const double x = static_cast<double>(turned.layers[0].query.weights.at(3, 5));
    second += x * x / kDraws;
    fourth += x * x * x * x / kDraws;
  }
  EXPECT_NEAR(second, 1.0 / kDim, 5 * std::sqrt(2.0 / kDraws) / kDim);
  EXPECT_NEAR(fourth, 3.0 / (kDim * (kDim + 2)), 5 * std::sqrt(96.0 / kDraws) / (kDim * kDim));
}

// ---- States that somebody saved.

TEST(SavedStates, GiveTheReadingOfTheModelThatMadeThem) {
  const Planted p{.tokens = 12, .dim = 32, .layers = 3, .betas = {2, 5}, .causal = true};
  const std::vector<double> x = tokens_with_cosine(12, 32, 0.2, 4);
  const Model model = planted_model(p, x);
  const TextReading direct = read_text(model, all_tokens(12), {});
  Array states{{4, 12, 32}, {}}, logits{{3, 2, 12, 12}, {}};
  Pass pass(model, all_tokens(12).ids);
  const auto keep = [&] {
    states.data.insert(states.data.end(), pass.state().data.begin(), pass.state().data.end());
  };
  keep();
  while (!pass.done()) {
    const LayerView& view = pass.step();
    keep();
    for (std::size_t k = 0; k < view.logits.size(); ++k)
      logits.data.push_back(k % 12 > k / 12 % 12 ? -HUGE_VAL : static_cast<double>(view.logits[k]));
  }
  const TextReading saved = read_states(states, logits, {});
  for (std::size_t k = 0; k < 4; ++k) EXPECT_NEAR(saved.cosine(k), direct.cosine(k), 1e-12);
  for (std::size_t k = 0; k < 3; ++k) {
    EXPECT_NEAR(saved.layers[k].beta, direct.layers[k].beta, 1e-9);
    EXPECT_NEAR(saved.layers[k].time, direct.layers[k].time, 1e-9);
    EXPECT_NEAR(saved.layers[k].uses[1].entropy, direct.layers[k].uses[1].entropy, 1e-5);
  }
  EXPECT_EQ(saved.tree.labels(), direct.tree.labels());
  EXPECT_TRUE(std::isnan(read_states(states, {}, {}).layers[0].beta));
  EXPECT_SAYS(refusal([&] {
                read_states({{4, 12}, states.data}, {}, {});
              }),
              "states has the shape (4, 12)");
  EXPECT_SAYS(refusal([&] {
                read_states(states, {{4, 2, 12, 12}, logits.data}, {});
              }),
              "one layer fewer than states");
  states.data[5] = HUGE_VAL;
  EXPECT_SAYS(refusal([&] { read_states(states, {}, {}); }),
              "states holds a number that is not finite: inf, state 0, token 0");
  states.data[5] = 0;
  std::fill_n(states.data.begin() + static_cast<std::ptrdiff_t>(17 * states.shape[2]),
              states.shape[2], 0.0);
  EXPECT_SAYS(refusal([&] { read_states(states, {}, {}); }), "token 5 of state 1");
}

}  // namespace
}  // namespace attractor::models
