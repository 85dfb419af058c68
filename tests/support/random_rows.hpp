// Random rows, for tests and benchmarks: each of them names a stream of its own.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string_view>
#include <vector>

#include "attractor/base/random.hpp"

namespace attractor {

/// Standard normals, count x dim; row i is draw i of the stream.
inline std::vector<double> normals_of(std::string_view stream_name, std::uint64_t seed,
                                      std::size_t count, std::size_t dim) {
  const Stream stream(seed, stream_name);
  std::vector<double> rows(count * dim);
  for (std::size_t i = 0; i < count; ++i) stream.normals(i, std::span(rows).subspan(i * dim, dim));
  return rows;
}

inline std::vector<double> unit_rows(std::vector<double> x, std::size_t dim) {
  for (std::size_t i = 0; i < x.size(); i += dim) {
    const double size = std::sqrt(std::inner_product(&x[i], &x[i] + dim, &x[i], 0.0));
    for (std::size_t a = 0; a < dim; ++a) x[i + a] /= size;
  }
  return x;
}

/// Uniform on the sphere, count x dim; all of them one draw.
inline std::vector<double> uniform_draw(const Stream& stream, std::uint64_t draw, std::size_t count,
                                        std::size_t dim) {
  std::vector<double> rows(count * dim);
  stream.normals(draw, rows);
  return unit_rows(std::move(rows), dim);
}

}  // namespace attractor
