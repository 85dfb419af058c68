#include "attractor/models/nulls.hpp"

#include <array>
#include <cmath>
#include <numbers>
#include <numeric>

#include "attractor/base/random.hpp"
#include "attractor/base/threads.hpp"

namespace attractor::models {
namespace {

/// A random order of n things, drawn for one matrix.
std::vector<std::size_t> random_order(std::size_t n, const Stream& stream, std::uint64_t item) {
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t k = n; k > 1; --k) std::swap(order[k - 1], order[stream.below(k, item, k)]);
  return order;
}

void shuffle(std::vector<float>& w, const Stream& stream, std::uint64_t item) {
  for (std::size_t k = w.size(); k > 1; --k) std::swap(w[k - 1], w[stream.below(k, item, k)]);
}

/// Turns rows (each of `length` numbers, `stride` apart) among themselves.
void turn_rows(std::vector<float>& w, std::size_t count, std::size_t length, std::size_t stride,
               std::size_t step, const Stream& stream, std::uint64_t item) {
  const auto rounds =
      static_cast<std::size_t>(4 * std::ceil(std::log2(static_cast<double>(count) + 1)));
  for (std::size_t round = 0; round < rounds; ++round) {
    const std::vector<std::size_t> order = random_order(count, stream, item * 1000 + 2 * round);
    for (std::size_t k = 0; k + 1 < count; k += 2) {
      const double angle = 2 * std::numbers::pi * stream.uniform(item * 1000 + 2 * round + 1, k);
      const auto c = static_cast<float>(std::cos(angle)), s = static_cast<float>(std::sin(angle));
      float* x = w.data() + order[k] * stride;
      float* y = w.data() + order[k + 1] * stride;
      for (std::size_t a = 0; a < length; ++a) {
        const float turned = c * x[a * step] - s * y[a * step];
        y[a * step] = s * x[a * step] + c * y[a * step];
        x[a * step] = turned;
      }
    }
  }
}

Linear null_of(const Linear& f, Null kind, const Stream& stream, std::uint64_t item) {
  if (f.empty()) return {};
  const std::size_t outputs = f.weights.outputs(), inputs = f.weights.inputs();
  std::vector<float> w = f.weights.unpacked();
  if (kind == Null::shuffled) {
    shuffle(w, stream, item);
  } else {
    turn_rows(w, outputs, inputs, inputs, 1, stream, 2 * item);
    turn_rows(w, inputs, outputs, 1, inputs, stream, 2 * item + 1);
  }
  return {.weights = kernels::PackedMatrix(w, outputs, inputs), .bias = f.bias};
}

Layer null_layer(const Layer& l, Null kind, const Stream& stream, std::uint64_t item) {
  Layer n{.attention_norm = l.attention_norm, .hidden_norm = l.hidden_norm};
  n.query = null_of(l.query, kind, stream, item);
  n.key = null_of(l.key, kind, stream, item + 1);
  n.value = null_of(l.value, kind, stream, item + 2);
  n.output = null_of(l.output, kind, stream, item + 3);
  n.up = null_of(l.up, kind, stream, item + 4);
  n.gate = null_of(l.gate, kind, stream, item + 5);
  n.down = null_of(l.down, kind, stream, item + 6);
  n.query_gain = l.query_gain;
  n.key_gain = l.key_gain;
  return n;
}

}  // namespace

std::span<const std::string_view> names(Null) {
  static constexpr std::array<std::string_view, 2> kAll = {"shuffled", "redrawn"};
  return kAll;
}

Model null_model(const Model& model, Null kind, std::uint64_t seed) {
  Model null{.architecture = model.architecture,
             .name = model.name,
             .words = model.words,
             .places = model.places,
             .kind = model.kind,
             .embedding_norm = model.embedding_norm,
             .embedding_map = model.embedding_map,
             .layers = std::vector<Layer>(model.layers.size()),
             .final_norm = model.final_norm,
             .head = model.head};
  const Stream stream(seed, kind == Null::shuffled ? "shuffled weights" : "redrawn weights");
  parallel_for(model.layers.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k)
      null.layers[k] = null_layer(model.layers[k], kind, stream, 8 * k);
  });
  return null;
}

}  // namespace attractor::models
