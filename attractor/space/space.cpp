#include "attractor/space/space.hpp"

#include <algorithm>
#include <cmath>

namespace attractor {

double norm(std::span<const double> a) { return std::sqrt(dot(a, a)); }

void Sphere::retract(std::span<double> point) const {
  double length = norm(point);
  if (!(length > 1e-150 && length < 1e150)) {  // the squares left the range: scale first
    double largest = 0;
    for (double x : point) largest = std::max(largest, std::abs(x));
    for (double& x : point) x /= largest;  // 0/0 and inf/inf: NaN, which the time loop reports
    length = norm(point);
  }
  for (double& x : point) x /= length;
}

void Sphere::project(std::span<const double> point, std::span<double> vector) const {
  // Twice: the first pass leaves a radial part of size eps |v|, which matters when the tangent part
  // is much smaller than v (nearly antipodal tokens).
  for (int pass = 0; pass < 2; ++pass) {
    const double radial = dot(point, vector);
    for (std::size_t k = 0; k < point.size(); ++k) vector[k] -= radial * point[k];
  }
}

double Sphere::distance(std::span<const double> a, std::span<const double> b) const {
  const double chord = std::sqrt(squared_distance(a, b));
  return 2 * std::asin(std::min(1.0, chord / 2));
}

double Euclidean::distance(std::span<const double> a, std::span<const double> b) const {
  return std::sqrt(squared_distance(a, b));
}

double Euclidean::scale(std::span<const double> point) const { return std::max(1.0, norm(point)); }

}  // namespace attractor
