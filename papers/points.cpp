#include "papers/points.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "attractor/base/numbers.hpp"
#include "attractor/space/space.hpp"

namespace attractor::papers {

std::span<const double> row(std::span<const double> points, std::size_t dim, std::size_t index) {
  return points.subspan(index * dim, dim);
}

std::size_t distinct(std::span<const double> points, std::size_t dim, double radius) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < points.size() / dim; ++i)
    if (std::none_of(found.begin(), found.end(), [&](std::size_t j) {
          return squared_distance(row(points, dim, i), row(points, dim, j)) <= radius * radius;
        }))
      found.push_back(i);
  return found.size();
}

double largest_distance(std::span<const double> a, std::span<const double> b, std::size_t dim) {
  if (a.size() != b.size()) return kNan;
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); i += dim) {
    double distance = 0;
    for (std::size_t k = 0; k < dim; ++k) distance = std::hypot(distance, a[i + k] - b[i + k]);
    if (!(distance <= largest)) largest = distance;
    if (std::isnan(largest)) break;
  }
  return largest;
}

}  // namespace attractor::papers
