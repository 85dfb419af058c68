// Where a field of attention goes (circle_field.hpp, sphere_field.hpp, power_moments.hpp): one
// value or vector for each token; an empty span is not computed.
#pragma once

#include <span>

namespace attractor::kernels {

struct CircleFieldOut {
  std::span<double> pull, partition, mean;
  double scale = 1;  // multiplies pull and mean
};

/// Vectors of d coordinates; on the sphere d = 3.
struct SphereFieldOut {
  std::span<double> pull, mean;        // n x d, tangent
  std::span<double> partition, along;  // n; `along` takes half as long again
  double scale = 1;                    // multiplies pull and mean
};

}  // namespace attractor::kernels
