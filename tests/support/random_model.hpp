// Small random models of every family, for tests of the forward pass.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "attractor/base/named.hpp"
#include "attractor/base/random.hpp"
#include "attractor/models/pass.hpp"

namespace attractor::models {

inline Architecture small_architecture(Family family) {
  const bool early = family == Family::bert || family == Family::albert;
  const bool rotary = !early && family != Family::gpt2;
  Architecture a{.family = family,
                 .layers = 2,
                 .own_layers = family == Family::albert ? std::size_t{1} : std::size_t{2},
                 .width = 12,
                 .heads = 3,
                 .key_heads = rotary ? std::size_t{1} : std::size_t{3},
                 .head_dim = 4,
                 .hidden = 20,
                 .vocabulary = 11,
                 .positions = 20,
                 .embedding = family == Family::albert ? std::size_t{6} : std::size_t{0},
                 .kinds = early ? std::size_t{2} : std::size_t{0},
                 .norm = rotary ? NormKind::rms : NormKind::layer,
                 .place = early ? NormPlace::post : NormPlace::pre,
                 .epsilon = 1e-5,
                 .activation = rotary                   ? Activation::silu
                               : family == Family::bert ? Activation::gelu
                                                        : Activation::gelu_tanh,
                 .gated = rotary};
  a.query_bias = !rotary || family == Family::qwen2;
  a.output_bias = a.hidden_bias = !rotary;
  a.query_norm = family == Family::qwen3;
  a.causal = !early;
  a.window = family == Family::mistral ? 3 : 0;
  a.position = rotary ? Positions::rotary_halves : Positions::learned;
  return a;
}

class RandomWeights {
 public:
  explicit RandomWeights(std::uint64_t seed) : stream_(seed, "random model") {}

  std::vector<float> numbers(std::size_t count, double scale, double mean = 0) {
    std::vector<float> all(count);
    for (std::size_t k = 0; k < count; ++k)
      all[k] = static_cast<float>(mean + scale * stream_.normal(item_, k));
    ++item_;
    return all;
  }
  Linear linear(std::size_t outputs, std::size_t inputs, bool bias) {
    const double scale = 1.3 / std::sqrt(static_cast<double>(inputs));
    Linear l{.weights = kernels::PackedMatrix(numbers(outputs * inputs, scale), outputs, inputs)};
    if (bias) l.bias = numbers(outputs, 0.1);
    return l;
  }
  Norm norm(std::size_t width, NormKind kind) {
    Norm n{.gain = numbers(width, 0.2, 1)};
    if (kind == NormKind::layer) n.bias = numbers(width, 0.2);
    return n;
  }

 private:
  Stream stream_;
  std::uint64_t item_ = 0;
};

inline Model random_model(Family family, std::uint64_t seed) {
  Model m;
  const Architecture a = m.architecture = small_architecture(family);
  m.name = "random";
  RandomWeights w(seed);
  m.words = w.numbers(a.vocabulary * a.embedding_width(), 1);
  if (!a.rotary()) m.places = w.numbers(a.positions * a.embedding_width(), 0.3);
  if (a.kinds > 0) m.kind = w.numbers(a.embedding_width(), 0.3);
  if (a.place == NormPlace::post)
    m.embedding_norm = w.norm(a.embedding_width(), a.norm);
  else
    m.final_norm = w.norm(a.width, a.norm);
  if (a.embedding > 0) m.embedding_map = w.linear(a.width, a.embedding, true);
  for (std::size_t k = 0; k < a.own_layers; ++k) {
    Layer l{.attention_norm = w.norm(a.width, a.norm), .hidden_norm = w.norm(a.width, a.norm)};
    l.query = w.linear(a.queries(), a.width, a.query_bias);
    l.key = w.linear(a.keys(), a.width, a.query_bias);
    l.value = w.linear(a.keys(), a.width, a.query_bias);
    l.output = w.linear(a.width, a.queries(), a.output_bias);
    if (a.query_norm) {
      l.query_gain = w.numbers(a.head_dim, 0.3, 1);
      l.key_gain = w.numbers(a.head_dim, 0.3, 1);
    }
    l.up = w.linear(a.hidden, a.width, a.hidden_bias);
    if (a.gated) l.gate = w.linear(a.hidden, a.width, a.hidden_bias);
    l.down = w.linear(a.width, a.hidden, a.hidden_bias);
    m.layers.push_back(std::move(l));
  }
  return m;
}

}  // namespace attractor::models
