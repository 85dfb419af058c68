#include "papers/textbook_layer.hpp"

#include <algorithm>
#include <cmath>

namespace attractor::papers {
namespace {

/// M x for every token; an empty matrix is the identity.
std::vector<double> mapped(std::span<const double> tokens, std::span<const double> matrix,
                           std::size_t dim) {
  std::vector<double> result(tokens.begin(), tokens.end());
  if (matrix.empty()) return result;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    result[i] = 0;
    for (std::size_t k = 0; k < dim; ++k)
      result[i] += matrix[i % dim * dim + k] * tokens[i / dim * dim + k];
  }
  return result;
}

}  // namespace

std::vector<double> textbook_layer(std::span<const double> tokens, const Textbook& layer) {
  const std::size_t d = layer.dim, n = tokens.size() / d;
  const std::vector<double> seen = mapped(tokens, layer.interaction, d);
  const std::vector<double> values = mapped(tokens, layer.value, d);
  std::vector<double> next(tokens.begin(), tokens.end()), logits(n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      logits[j] = 0;
      for (std::size_t k = 0; k < d; ++k)
        logits[j] += layer.beta * tokens[i * d + k] * seen[j * d + k];
    }
    const double largest = *std::max_element(logits.begin(), logits.end());
    double total = 0, along = 0, length = 0;
    for (std::size_t j = 0; j < n; ++j)
      total += logits[j] =
          (layer.masses.empty() ? 1 : layer.masses[j]) * std::exp(logits[j] - largest);
    std::vector<double> sum(d, 0.0);
    for (std::size_t k = 0; k < d; ++k) {
      for (std::size_t j = 0; j < n; ++j) sum[k] += logits[j] / total * values[j * d + k];
      if (layer.tangent) along += sum[k] * tokens[i * d + k];
    }
    for (std::size_t k = 0; k < d; ++k) {
      next[i * d + k] += layer.step * (sum[k] - along * tokens[i * d + k]);
      length = std::hypot(length, next[i * d + k]);
    }
    for (std::size_t k = 0; k < d; ++k) next[i * d + k] /= length;
  }
  return next;
}

}  // namespace attractor::papers
