// The directions along which points spread most: eigenvectors of their centred covariance. Each is
// turned so that its largest entry is positive. Cost: n d min(n, d) + min(n, d)^3.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace attractor::observe {

struct PrincipalAxes {
  std::vector<double> axes{};    // count x dim, zeros where there are no more
  std::vector<double> shares{};  // of the variance: of the first, of the first two, ...
};

/// points: n x dim, all finite; none: zeros.
PrincipalAxes principal_axes(std::span<const double> points, std::size_t dim, std::size_t count);

}  // namespace attractor::observe
