// Points of R^d as rows of one array, n x dim.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attractor/space/space.hpp"

namespace attractor::depth {

using Points = std::span<const double>;

inline Points row(Points points, std::size_t dim, std::size_t i) {
  return points.subspan(i * dim, dim);
}
inline std::span<double> row(std::span<double> points, std::size_t dim, std::size_t i) {
  return points.subspan(i * dim, dim);
}

inline double distance(Points a, Points b) { return std::sqrt(squared_distance(a, b)); }

/// The chosen points, in that order.
inline std::vector<double> gathered(Points points, std::size_t dim,
                                    std::span<const std::uint32_t> chosen) {
  std::vector<double> result;
  result.reserve(chosen.size() * dim);
  for (const std::uint32_t i : chosen) {
    const Points point = row(points, dim, i);
    result.insert(result.end(), point.begin(), point.end());
  }
  return result;
}

}  // namespace attractor::depth
