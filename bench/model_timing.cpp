// Times a trained model's forward pass, of MiniLM's shape with random weights, on 128 tokens:
//
//   model_timing THREADS REPETITIONS
//
// prints one JSON object:
//   fma_gflops_f32    the peak: fused multiply-adds of one thread, in the same minutes
//   products          of the shapes in the model (tokens x outputs x inputs): GF/s of our product
//                     and of Eigen's, the two in turn
//   attention_layer   GF/s of a whole attention block, projections included (4 n d^2 + 2 n^2 d
//                     multiply-adds)
//   attention_heads   of its heads alone: logits, softmax, weighted values (2 n^2 d)
//   pass_ms           all layers
//   observed_ms       the same with everything `inspect` measures of a text
// Best of the repetitions; processor time on one thread, wall time on more.
#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "attractor/base/random.hpp"
#include "attractor/models/blocks.hpp"
#include "attractor/models/pass.hpp"
#include "attractor/models/readings/text_reading.hpp"
#include "attractor/models/trained_attention.hpp"
#include "bench/multiply_add.hpp"
#include "bench/timing.hpp"

namespace attractor {
namespace {

using namespace models;

constexpr std::size_t kTokens = 128, kWidth = 384, kHidden = 1536, kHeads = 12, kLayers = 6;

double best_of(std::size_t repetitions, const std::function<void()>& work) {
  double best = std::numeric_limits<double>::infinity();
  work();
  for (std::size_t k = 0; k < repetitions; ++k) {
    const double begin = seconds();
    work();
    best = std::min(best, seconds() - begin);
  }
  return best;
}

std::vector<float> random_numbers(std::size_t count, double size, std::uint64_t seed) {
  std::vector<double> all(count);
  Stream(seed, "model timing").normals(0, all);
  std::vector<float> numbers;
  for (const double x : all) numbers.push_back(static_cast<float>(size * x));
  return numbers;
}

Matrix random_matrix(std::size_t columns, std::uint64_t seed) {
  Matrix x(kTokens, columns);
  x.data = random_numbers(kTokens * columns, 1, seed);
  return x;
}

Linear random_linear(std::size_t outputs, std::size_t inputs, std::uint64_t seed) {
  return {.weights = kernels::PackedMatrix(
              random_numbers(outputs * inputs, 1 / std::sqrt(static_cast<double>(inputs)), seed),
              outputs, inputs),
          .bias = std::vector<float>(outputs, 0.0F)};
}

Model random_model() {
  Model m;
  m.name = "random";
  m.architecture = {.layers = kLayers,
                    .own_layers = kLayers,
                    .width = kWidth,
                    .heads = kHeads,
                    .key_heads = kHeads,
                    .head_dim = kWidth / kHeads,
                    .hidden = kHidden,
                    .vocabulary = kTokens,
                    .positions = kTokens};
  const Norm unit{std::vector<float>(kWidth, 1.0F), std::vector<float>(kWidth, 0.0F)};
  m.words = random_numbers(kTokens * kWidth, 1, 1);
  m.places.assign(kTokens * kWidth, 0.0F);
  m.embedding_norm = unit;
  for (std::size_t k = 0; k < kLayers; ++k) {
    const std::uint64_t seed = 10 * (k + 1);
    Layer layer{.attention_norm = unit, .hidden_norm = unit};
    layer.query = random_linear(kWidth, kWidth, seed);
    layer.key = random_linear(kWidth, kWidth, seed + 1);
    layer.value = random_linear(kWidth, kWidth, seed + 2);
    layer.output = random_linear(kWidth, kWidth, seed + 3);
    layer.up = random_linear(kHidden, kWidth, seed + 4);
    layer.down = random_linear(kWidth, kHidden, seed + 5);
    m.layers.push_back(std::move(layer));
  }
  return m;
}

std::string product_times(std::size_t repetitions) {
  using Rows = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  std::string all;
  for (const auto& [outputs, inputs] :
       {std::pair{kWidth, kWidth}, {kHidden, kWidth}, {kWidth, kHidden}}) {
    const std::vector<float> w = random_numbers(outputs * inputs, 1, 5);
    const kernels::PackedMatrix packed(w, outputs, inputs);
    const Matrix x = random_matrix(inputs, 6);
    Matrix y(kTokens, outputs);
    const Eigen::Map<const Rows> xs(x.data.data(), kTokens, static_cast<Eigen::Index>(inputs)),
        ws(w.data(), static_cast<Eigen::Index>(outputs), static_cast<Eigen::Index>(inputs));
    Rows ys(kTokens, static_cast<Eigen::Index>(outputs));
    double ours = 1e9, eigen = 1e9;
    for (int turn = 0; turn < 3; ++turn) {
      ours = std::min(ours,
                      best_of(repetitions, [&] { kernels::product(x.in(), packed, {}, y.out()); }));
      eigen = std::min(eigen, best_of(repetitions, [&] { ys.noalias() = xs * ws.transpose(); }));
    }
    const double flops = 2e-9 * static_cast<double>(kTokens * outputs * inputs);
    all +=
        fmt::format("{}{{\"shape\": \"{}x{}x{}\", \"ours\": {:.4g}, \"eigen\": {:.4g}}}",
                    all.empty() ? "" : ", ", kTokens, outputs, inputs, flops / ours, flops / eigen);
  }
  return all;
}

void run(const std::vector<std::string>& arguments) {
  if (arguments.size() != 2) throw Error("arguments: THREADS REPETITIONS");
  set_threads(std::stoul(arguments[0]));
  const std::size_t repetitions = std::stoul(arguments[1]);
  double sum = 0, flops = 0;
  const double chains = best_of(repetitions, [&] { flops = multiply_add_f32(2'000'000, sum); });
  const Model model = random_model();
  Encoded text;
  for (std::uint32_t k = 0; k < kTokens; ++k) {
    text.ids.push_back(k);
    text.pieces.emplace_back("x");
    text.special.push_back(false);
  }
  const Matrix seen = random_matrix(kWidth, 7);
  const std::vector<kernels::KeyRange> all(kTokens, {0, kTokens});
  const auto attend = [&] {
    TrainedAttention attention({.architecture = model.architecture,
                                .layer = model.layers[0],
                                .scale = 0.1767767,
                                .rotary = nullptr,
                                .seen = all,
                                .identity_values = false});
    attention.write(seen);
  };
  const double block = best_of(repetitions, attend);
  const double maps = best_of(repetitions, [&] {
    for (int k = 0; k < 4; ++k) apply(model.layers[0].query, seen);
  });
  const double pass = best_of(repetitions, [&] {
    Pass p(model, text.ids);
    while (!p.done()) p.step();
  });
  ReadingOptions options;
  options.exponents = 2;
  options.directions = true;
  const double observed =
      best_of(std::max<std::size_t>(1, repetitions / 10), [&] { read_text(model, text, options); });
  const double pairs = static_cast<double>(kTokens * kTokens * kWidth), width = kWidth;
  fmt::print(
      "{{\"threads\": {}, \"fma_gflops_f32\": {:.4g}, \"products\": [{}], \"attention_layer\": "
      "{:.4g}, "
      "\"attention_heads\": {:.4g}, \"pass_ms\": {:.4g}, \"observed_ms\": {:.4g}, \"check\": "
      "{:.3g}}}\n",
      threads(), 1e-9 * flops / chains, product_times(repetitions),
      1e-9 * (8.0 * kTokens * width * width + 4 * pairs) / block, 4e-9 * pairs / (block - maps),
      1e3 * pass, 1e3 * observed, sum);
}

}  // namespace
}  // namespace attractor

int main(int count, char** values) {
  return attractor::timing_program("model_timing", count, values, attractor::run);
}
