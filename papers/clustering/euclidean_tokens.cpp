#include "papers/clustering/euclidean_tokens.hpp"

#include <algorithm>
#include <utility>

#include "attractor/base/random.hpp"
#include "attractor/space/space.hpp"
#include "papers/points.hpp"

namespace attractor::papers {

std::vector<double> box(std::size_t n, std::size_t dim, double size, std::uint64_t seed) {
  const Stream stream(seed, "box");
  std::vector<double> tokens;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t c = 0; c < dim; ++c) tokens.push_back(size * (2 * stream.uniform(i, c) - 1));
  return tokens;
}

depth::Architecture plane(std::size_t dim, depth::Geometry geometry, double beta,
                          std::vector<double> value) {
  depth::Architecture a;
  a.layer.dim = dim;
  a.layer.beta = beta;
  a.layer.heads.front().value = std::move(value);
  a.geometry = geometry;
  return a;
}

double excess(std::span<const double> points, std::size_t dim) {
  double worst = 0;
  for (std::size_t i = 0; i < points.size() / dim; ++i) {
    const auto p = row(points, dim, i);
    for (std::size_t j = 0; j < points.size() / dim; ++j)
      worst = std::max(worst, (dot(p, row(points, dim, j)) - dot(p, p)) / norm(p));
  }
  return worst;
}

}  // namespace attractor::papers
