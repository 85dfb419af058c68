#include "attractor/depth/feed_forward.hpp"

#include <fmt/format.h>

#include <cassert>
#include <cmath>
#include <numbers>

#include "attractor/base/error.hpp"
#include "attractor/base/random.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/space/space.hpp"

namespace attractor::depth {
namespace {

double activate(Activation activation, double z) {
  if (activation == Activation::relu) return z > 0 ? z : 0;
  return 0.5 * z * std::erfc(-z / std::numbers::sqrt2);
}

std::vector<double> gaussian(std::size_t rows, std::size_t columns, const Stream& stream,
                             std::uint64_t period) {
  std::vector<double> matrix(rows * columns);
  const double scale = 1 / std::sqrt(static_cast<double>(columns));
  for (std::size_t k = 0; k < matrix.size(); ++k) matrix[k] = scale * stream.normal(period, k);
  return matrix;
}

}  // namespace

std::span<const std::string_view> names(Activation) {
  static constexpr std::string_view kNames[] = {"none", "relu", "gelu"};
  return kNames;
}

void FeedForward::add(std::span<const double> tokens, double factor,
                      std::span<double> result) const {
  if (!present()) return;
  assert(in.size() == width * dim && out.size() == dim * width && bias.size() == width);
  const auto row = [](const std::vector<double>& matrix, std::size_t r, std::size_t columns) {
    return std::span(matrix).subspan(r * columns, columns);
  };
  parallel_for(tokens.size() / dim, 16, [&](std::size_t begin, std::size_t end) {
    std::vector<double> hidden(width);
    for (std::size_t i = begin; i < end; ++i) {
      const auto x = tokens.subspan(i * dim, dim);
      for (std::size_t w = 0; w < width; ++w)
        hidden[w] = activate(activation, dot(row(in, w, dim), x) + bias[w]);
      for (std::size_t a = 0; a < dim; ++a)
        result[i * dim + a] += factor * strength * dot(row(out, a, width), hidden);
    }
  });
}

FeedForward draw_feed_forward(Activation activation, std::size_t dim, std::size_t width,
                              double strength, std::uint64_t seed, std::uint64_t period) {
  if (activation == Activation::none) return {};
  return {.activation = activation,
          .dim = dim,
          .width = width,
          .in = gaussian(width, dim, Stream(seed, "feed-forward in"), period),
          .bias = std::vector<double>(width, 0.0),
          .out = gaussian(dim, width, Stream(seed, "feed-forward out"), period),
          .strength = strength};
}

}  // namespace attractor::depth
