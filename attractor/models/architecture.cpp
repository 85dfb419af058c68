#include "attractor/models/architecture.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "attractor/base/error.hpp"

namespace attractor::models {

std::span<const std::string_view> names(Family) {
  static constexpr std::array<std::string_view, 7> kAll = {"bert",    "albert", "gpt2", "llama",
                                                           "mistral", "qwen2",  "qwen3"};
  return kAll;
}

std::span<const std::string_view> names(NormPlace) {
  static constexpr std::array<std::string_view, 2> kAll = {"post", "pre"};
  return kAll;
}

std::optional<Activation> activation_named(std::string_view word) {
  if (word == "gelu") return Activation::gelu;
  if (word == "gelu_new" || word == "gelu_pytorch_tanh") return Activation::gelu_tanh;
  if (word == "silu" || word == "swish") return Activation::silu;
  if (word == "relu") return Activation::relu;
  return {};
}

void check(const Architecture& a, const std::string& what) {
  const auto within = [&](std::string_view name, std::size_t value, std::size_t most) {
    if (value < 1 || value > most)
      throw Error(
          fmt::format("{}: {} = {} is not allowed; allowed: 1 to {}", what, name, value, most));
  };
  within("number of layers", a.layers, 100000);
  within("number of layers with weights of their own", a.own_layers,
         std::min<std::size_t>(a.layers, 1000));
  within("hidden size", a.width, 65536);
  within("number of attention heads", a.heads, 1024);
  within("number of key-value heads", a.key_heads, a.heads);
  within("head dimension", a.head_dim, 4096);
  within("intermediate size", a.hidden, 1048576);
  within("vocabulary size", a.vocabulary, 4000000);
  within("number of positions", a.positions, 100000000);
  within("embedding size", a.embedding_width(), 65536);
  if (a.heads % a.key_heads != 0)
    throw Error(fmt::format("{}: {} attention heads cannot share {} key-value heads", what, a.heads,
                            a.key_heads));
  if (a.rotary() && a.head_dim % 2 != 0)
    throw Error(
        fmt::format("{}: rotary positions need an even head dimension, not {}", what, a.head_dim));
  if (!(a.epsilon >= 0 && a.epsilon <= 1))
    throw Error(fmt::format("{}: epsilon of the norm = {} is not allowed; allowed: 0 to 1", what,
                            a.epsilon));
  if (a.rotary() && !(a.theta > 1 && std::isfinite(a.theta)))
    throw Error(fmt::format("{}: rope_theta = {} is not allowed; allowed: above 1", what, a.theta));
  if (!(a.scaling.factor >= 1 && a.scaling.factor <= 1e6))
    throw Error(
        fmt::format("{}: factor of the rotary scaling = {} is not allowed; allowed: 1 to 1e6", what,
                    a.scaling.factor));
}

double parameters(const Architecture& a) {
  const auto width = static_cast<double>(a.width), hidden = static_cast<double>(a.hidden);
  const double attention = width * static_cast<double>(2 * a.queries() + 2 * a.keys());
  const double layer = attention + width * hidden * (a.gated ? 3 : 2) + 4 * width;
  const double embeddings =
      static_cast<double>(a.embedding_width()) *
      static_cast<double>(a.vocabulary * (a.tied ? 1 : 2) + (a.rotary() ? 0 : a.positions));
  return static_cast<double>(a.own_layers) * layer + embeddings;
}

}  // namespace attractor::models
