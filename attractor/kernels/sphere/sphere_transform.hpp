// From power sums of the cells of a sphere to polynomials of a field in the same cells
// (sphere_cells.hpp), in a time that does not depend on the number of tokens:
//
//   power sums -> weights of the nodes -> Fourier modes c_m of each ring of latitude
//   a_lm = sum_rings P_l^m(cos theta) c_m(theta),   P_l^m with sum_m P_l^m(x) P_l^m(y) e^{im(..)} =
//                                                   P_l(<x, y>), by its three-term recurrence in l
//   times the modes of the kernel, and the same way back.
//
// With C cells of q coefficients and modes up to L: O(C q^2 + L^2 sqrt(C q)).
#pragma once

#include <cstddef>
#include <memory>

#include "attractor/kernels/sphere/sphere_cells.hpp"

namespace attractor::kernels {

struct SphereSums {
  double energy = 0;  // sum_ij w_i w_j e^{beta (<x_i, x_j> - 1)} / total^2
  double order = 0;   // |sum_j w_j x_j| / total
};

class SphereTransform {
 public:
  /// Keeps references.
  SphereTransform(const SphereModes& modes, const SphereCells& cells);
  ~SphereTransform();

  /// All are cells x stride. `slope`: of sum_l slope_l, `along`: of sum_l along_l; null: not
  /// wanted.
  SphereSums apply(const double* moments, double total, double* slope, double* along);

 private:
  struct Plan;
  std::unique_ptr<Plan> plan_;
};

}  // namespace attractor::kernels
