#include "attractor/reductions/cluster_triangle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "attractor/base/error.hpp"

namespace attractor::meanfield {
namespace {

using std::numbers::pi;
using Triple = std::array<double, 3>;

/// Equal gaps g face the pair.
Triple isosceles(double g) { return {g, g, 2 * pi - 2 * g}; }

/// ln of third / pair for clusters at the edge.
double log_ratio(double g) {
  const Triple gaps = isosceles(g);
  const Triple m = resting_masses({gaps, triangle_edge(gaps).value_or(-2.0 / 3)});
  return std::log(m[2] / m[0]);
}

}  // namespace

std::optional<double> triangle_edge(const Triple& gaps) {
  double sines = 0, cotangents = 0, own = 0, squares = 0;
  for (const double g : gaps) {
    sines += std::sin(g);
    cotangents += std::cos(g) / std::sin(g);
    own += std::cos(g);
    squares += std::sin(g) * std::sin(g);
  }
  const double linear = cotangents * sines - own, quadratic = (sines * sines - squares) / 2;
  // Equal gaps have a double root, which rounding may take away.
  const double discriminant = linear * linear - 4 * quadratic;
  if (discriminant < -1e-13 * linear * linear) return {};
  return -(-linear + std::sqrt(std::max(0.0, discriminant))) / (2 * quadratic);
}

Triple resting_masses(const ClusterTriangle& t) {
  Triple m;
  for (std::size_t i = 0; i < 3; ++i)
    m[i] = std::exp(t.beta * std::cos(t.gaps[i])) * std::sin(t.gaps[i]);
  const double total = m[0] + m[1] + m[2];
  for (double& x : m) x /= total;
  return m;
}

std::optional<ClusterTriangle> isosceles_edge(double pair, double third) {
  for (const double m : {pair, third})
    if (!(m > 0 && std::isfinite(m)))
      throw Error(fmt::format("mass = {} is not allowed for a cluster; allowed: above 0", m));
  const double equal = 2 * pi / 3, wanted = std::log(third / pair);
  if (wanted == 0) return ClusterTriangle{isosceles(equal), -2.0 / 3};
  // From equal gaps outward; a heavy third cluster faces a wide gap, 2 pi - 2g.
  constexpr int kPieces = 1000;
  const double end = wanted > 0 ? pi / 2 : pi;
  const auto at = [&](double share) { return equal + (end - equal) * share; };
  const auto beyond = [&](double share) { return (log_ratio(at(share)) > wanted) == (wanted > 0); };
  for (int k = 1; k < kPieces; ++k) {
    double low = double(k - 1) / kPieces, high = double(k) / kPieces;
    if (!beyond(high)) continue;
    while (high - low > 1e-16) {
      const double middle = (low + high) / 2;
      if (middle == low || middle == high) break;
      (beyond(middle) ? high : low) = middle;
    }
    const Triple gaps = isosceles(at(high));
    return ClusterTriangle{gaps, triangle_edge(gaps).value_or(-2.0 / 3)};
  }
  return {};
}

}  // namespace attractor::meanfield
