// The point of smallest norm in a convex hull,
//
//   z* = argmin { |z| : z = sum_i l_i x_i, l_i >= 0, sum_i l_i = 1 },
//
// by the active-set method of Wolfe, "Finding the nearest point in a polytope" (Math. Programming
// 11, 1976). Optimality is <x_i, z> >= |z|^2 for every i; since <z*, y> >= |z*|^2 for all y of the
// hull, any z of the hull obeys
//
//   |z - z*|^2 <= gap = |z|^2 - min_i <x_i, z>      and      |z| >= |z*| >= min_i <x_i, z> / |z|.
//
// Both are rounded outwards, and the gap holds what z misses the hull by: some roundings of
// `scale`.
//
// Points: n x dim, row-major. Cost: n dim for a major iteration, plus dim k for each change of the
// corral (the k <= dim + 1 affinely independent points that carry z); memory n + 2 dim^2.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace attractor::solve {

enum class MinNormStatus {
  optimal,          // gap <= tolerance |z| scale, or |z| <= tolerance scale: 0 is in the hull
  precision_limit,  // rounding allows no further descent; the gap still holds
  iteration_limit,  // raise max_iterations
};

/// l_index = weight > 0.
struct HullCoefficient {
  std::size_t index;
  double weight;
};

struct MinNormOptions {
  double tolerance = 1e-12;        // relative to scale = max_i |x_i|
  std::size_t max_iterations = 0;  // major iterations; 0: 1000 + 50 dim
};

struct MinNormPoint {
  MinNormStatus status = MinNormStatus::optimal;
  std::vector<double> point{};                  // z; equals the sum below up to rounding of `scale`
  std::vector<HullCoefficient> coefficients{};  // at most dim + 1
  double norm = 0;                              // |z|
  double gap = 0;                               // bounds |z - z*|^2, rounded up
  double smallest_product = 0;                  // min_i <x_i, z>, rounded down
  double scale = 0;                             // max_i |x_i|
  std::size_t iterations = 0;
};

/// At least one point; all finite.
MinNormPoint min_norm_point(std::span<const double> points, std::size_t dim,
                            const MinNormOptions& options = {});

}  // namespace attractor::solve
