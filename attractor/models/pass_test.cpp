#include "attractor/models/pass.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "attractor/base/random.hpp"
#include "attractor/models/assemble.hpp"
#include "attractor/models/planted_model.hpp"
#include "attractor/models/readings/depth_growth.hpp"
#include "tests/support/random_model.hpp"
#include "tests/support/refusal.hpp"

namespace attractor::models {
namespace {

Matrix after_layers(const Model& model, std::span<const std::uint32_t> ids,
                    const Switches& s = {}) {
  Pass pass(model, ids, s);
  while (!pass.done()) pass.step();
  return pass.state();
}

/// The stream after one layer, from an embedded one that was moved a little.
Matrix step_from(const Model& model, std::span<const std::uint32_t> ids, const Switches& s,
                 const Matrix& moved, float by) {
  Pass pass(model, ids, s);
  Matrix x = pass.state();
  for (std::size_t k = 0; k < x.data.size(); ++k) x.data[k] += by * moved.data[k];
  pass.replace_state(x);
  pass.step();
  return pass.state();
}

TEST(Pass, TangentsAreTheDerivative) {
  for (const Family family : every<Family>()) {
    const Model model = random_model(family, 3);
    const std::vector<std::uint32_t> ids = {1, 5, 2, 9, 4, 7, 5};
    for (const Switches& s :
         {Switches{}, Switches{.feed_forward = false}, Switches{.attention = false},
          Switches{.identity_values = true}, Switches{.beta_scale = 2}}) {
      Pass pass(model, ids, s);
      Matrix moved(pass.state().rows, pass.state().columns);
      const Stream stream(4, "tangent test");
      for (std::size_t k = 0; k < moved.data.size(); ++k)
        moved.data[k] = static_cast<float>(stream.normal(0, k));
      pass.tangents().push_back(moved);
      pass.step();
      const Matrix& tangent = pass.tangents().front();
      // Central difference of the same layer; single precision leaves about 1e-3 of it.
      constexpr float kStep = 4e-3F;
      const Matrix up = step_from(model, ids, s, moved, kStep),
                   down = step_from(model, ids, s, moved, -kStep);
      double error = 0, size = 0;
      for (std::size_t k = 0; k < up.data.size(); ++k) {
        const double slope =
            (static_cast<double>(up.data[k]) - static_cast<double>(down.data[k])) / (2 * kStep);
        error += std::pow(slope - static_cast<double>(tangent.data[k]), 2);
        size += slope * slope;
      }
      EXPECT_LT(std::sqrt(error / size), 2e-3) << name(family);
    }
  }
}

TEST(Pass, SwitchesDoWhatTheySay) {
  const Model model = random_model(Family::llama, 5);
  const std::vector<std::uint32_t> ids = {1, 5, 2, 9};
  // Neither block writes: the stream stays.
  const Matrix still = after_layers(model, ids, {.feed_forward = false, .attention = false});
  EXPECT_EQ(still.data, Pass(model, ids).state().data);
  // A causal model: the first token sees itself alone, whatever follows.
  const Matrix longer = after_layers(model, std::vector<std::uint32_t>{1, 5, 2, 9, 3, 3});
  const Matrix shorter = after_layers(model, ids);
  for (std::size_t k = 0; k < shorter.data.size(); ++k) EXPECT_EQ(longer.data[k], shorter.data[k]);
  EXPECT_NE(after_layers(model, ids, {.mask = MaskChange::full}).data, shorter.data);
  EXPECT_EQ(after_layers(model, ids, {.mask = MaskChange::causal}).data, shorter.data);
  // Depth goes round and round.
  Pass twice(model, ids, {.depth = 2 * model.architecture.layers});
  for (std::size_t k = 0; k < model.architecture.layers; ++k) twice.step();
  EXPECT_EQ(twice.state().data, shorter.data);
  EXPECT_FALSE(twice.done());
}

TEST(Pass, WithIdentityValuesAttentionWritesWhatItSees) {
  // One token attends to itself alone.
  const Model model = random_model(Family::bert, 6);
  Pass pass(model, std::vector<std::uint32_t>{3}, {.identity_values = true});
  const LayerView& view = pass.step();
  for (std::size_t k = 0; k < view.seen->data.size(); ++k)
    EXPECT_NEAR(view.attention->data[k], view.seen->data[k], 1e-6);
}

TEST(Pass, ChancesSumToOneOverWhatIsSeen) {
  const Model model = random_model(Family::mistral, 7);  // window 3
  const std::vector<std::uint32_t> ids = {1, 5, 2, 9, 4, 7, 5};
  Pass pass(model, ids);
  const LayerView& view = pass.step();
  for (std::size_t row = 0; row < 7 * model.architecture.heads; ++row) {
    double sum = 0;
    for (std::size_t j = 0; j < 7; ++j) {
      const float p = view.chances[row * 7 + j];
      sum += static_cast<double>(p);
      const std::size_t i = row % 7;
      EXPECT_EQ(p > 0, j <= i && i - j < 3);
    }
    EXPECT_NEAR(sum, 1, 1e-6);
  }
}

TEST(Pass, KeysAreThoseThatMakeTheLogits) {
  // Queries and keys of a planted head are beta / sqrt(d) x and x: logits are beta <k_i, k_j> / d.
  const Planted p{.tokens = 6, .dim = 32, .layers = 1, .betas = {3}};
  const Model model = planted_model(p, tokens_with_cosine(6, 32, 0.4, 1));
  const std::vector<std::uint32_t> ids = {0, 1, 2, 3, 4, 5};
  Pass pass(model, ids);
  const LayerView& view = pass.step();
  ASSERT_EQ(view.keys->columns, 32U);
  for (std::size_t i = 0; i < 6; ++i)
    for (std::size_t j = 0; j < 6; ++j) {
      double product = 0;
      for (std::size_t a = 0; a < 32; ++a)
        product +=
            static_cast<double>(view.keys->row(i)[a]) * static_cast<double>(view.keys->row(j)[a]);
      EXPECT_NEAR(view.logits[i * 6 + j], 3 * product / 32, 1e-4);
    }
}

TEST(Pass, RefusesWhatDoesNotFit) {
  const Model model = random_model(Family::bert, 8);
  EXPECT_SAYS(refusal([&] { Pass(model, std::vector<std::uint32_t>{}); }), "there are no tokens");
  EXPECT_SAYS(refusal([&] { Pass(model, std::vector<std::uint32_t>{99}); }),
              "token 99 is not in the vocabulary");
  EXPECT_SAYS(refusal([&] { Pass(model, std::vector<std::uint32_t>(30, 1)); }),
              "30 tokens are too many");
  EXPECT_SAYS(refusal([&] { Pass(model, std::vector<std::uint32_t>{1}, {.only_layer = 9}); }),
              "layer 9 cannot be iterated");
}

TEST(DepthGrowth, OfLayersThatDoNothingIsZeroAndOfACollapseTheTheorysRate) {
  // Without attention directions stay: growth 0.
  const Planted p{.tokens = 8, .dim = 32, .layers = 6, .betas = {1}, .step = 0.1};
  const std::vector<double> x = tokens_with_cosine(8, 32, 0.9999, 1);
  const Model model = planted_model(p, x);
  const std::vector<std::uint32_t> ids = {0, 1, 2, 3, 4, 5, 6, 7};
  Pass still(model, ids, {.attention = false});
  DepthGrowth none(still, 3, 1);
  while (!still.done()) still.step(), none.measure();
  for (const double e : none.exponents()) EXPECT_NEAR(e, 0, 1e-5);
  // Near one cluster a perturbation of one token against the others shrinks by 1/(1 + h) a layer
  // (its part in the mean is all that comes back), one of all tokens together stays.
  Pass moving(model, ids);
  DepthGrowth all(moving, 8 * 31, 2);
  while (!moving.done()) moving.step(), all.measure();
  double sum = 0;
  for (const double g : all.growth().back()) sum += g;
  EXPECT_NEAR(sum, -7 * 31 * std::log(1.1), 0.02 * 7 * 31 * std::log(1.1));
}

}  // namespace
}  // namespace attractor::models
