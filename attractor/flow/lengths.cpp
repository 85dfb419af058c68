#include "attractor/flow/lengths.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "attractor/base/threads.hpp"

namespace attractor::flow {
namespace {

template <std::size_t kDim>
void squares(std::span<const double> vectors, std::size_t dim, double* out) {
  if constexpr (kDim > 0) dim = kDim;
  for (std::size_t i = 0; i < vectors.size() / dim; ++i) {
    double sum = 0;
    for (std::size_t c = i * dim; c < (i + 1) * dim; ++c) sum += vectors[c] * vectors[c];
    out[i] = sum;
  }
}

// Squares of the scales of at most kTogether points, or less: 1 where a square is beyond a double.
void least_squared_scales(const Space& space, std::span<const double> points, double* out) {
  const std::size_t count = points.size() / space.dim();
  if (space.compact()) return void(std::fill_n(out, count, 1.0));
  squares_of(points, space.dim(), out);
  for (std::size_t i = 0; i < count; ++i) out[i] = out[i] < 1e300 ? std::max(1.0, out[i]) : 1.0;
}

}  // namespace

void squares_of(std::span<const double> vectors, std::size_t dim, double* out) {
  switch (dim) {
    case 1:
      return squares<1>(vectors, dim, out);
    case 2:
      return squares<2>(vectors, dim, out);
    case 3:
      return squares<3>(vectors, dim, out);
    default:
      return squares<0>(vectors, dim, out);
  }
}

void LargestLength::meet(std::span<const double> vectors, std::span<const double> points) {
  const std::size_t dim = space_.dim(), count = vectors.size() / dim;
  double square[kTogether], scale[kTogether];
  squares_of(vectors, dim, square);
  least_squared_scales(space_, points, scale);
  std::size_t candidates = 0;  // most pieces have none; counting them needs no branches
  for (std::size_t i = 0; i < count; ++i) candidates += !(square[i] < surely_less_ * scale[i]);
  if (candidates == 0) return;
  for (std::size_t i = 0; i < count; ++i) {
    if (square[i] < surely_less_ * scale[i]) continue;
    const double length = std::sqrt(square[i]) / space_.scale(points.subspan(i * dim, dim));
    if (length <= largest_ || std::isnan(largest_)) continue;
    largest_ = length;
    surely_less_ = (1 - 1e-12) * length * length;
  }
}

double largest_length(const Space& space, std::span<const double> vectors,
                      std::span<const double> points) {
  const std::size_t dim = space.dim(), count = points.size() / dim;
  std::vector<double> of_block((count + grain(dim) - 1) / grain(dim), 0.0);
  parallel_for(count, grain(dim), [&](std::size_t begin, std::size_t end) {
    LargestLength largest(space);
    in_pieces(begin, end, [&](std::size_t first, std::size_t some) {
      largest.meet(vectors.subspan(first * dim, some * dim),
                   points.subspan(first * dim, some * dim));
    });
    of_block[begin / grain(dim)] = largest.value();
  });
  double most = 0;
  for (const double value : of_block) most = value <= most || std::isnan(most) ? most : value;
  return most;
}

}  // namespace attractor::flow
