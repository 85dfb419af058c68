#include "papers/directions.hpp"

#include <cmath>
#include <cstddef>

#include "attractor/space/space.hpp"

namespace attractor::papers {

double cosine(std::span<const double> a, std::span<const double> b) {
  return dot(a, b) / (norm(a) * norm(b));
}

double angle(std::span<const double> p) { return std::atan2(p[1], p[0]); }

double apart(std::span<const double> a, std::span<const double> b) {
  double square = 0;
  for (std::size_t k = 0; k < b.size(); ++k) square += (a[k] - b[k]) * (a[k] - b[k]);
  return std::sqrt(square);
}

}  // namespace attractor::papers
