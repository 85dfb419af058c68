// Tokens at rest on the circle, and whether they stay there. With f(x) = e^{beta cos x} sin x,
//
//   USA  theta_i' = -(1/n) sum_j f(theta_i - theta_j),      SA  the same times n / Z_i,  Z_i > 0,
//
// so both rest in the same places, and small displacements decay like e^{-Ht} (SA: e^{-DHt}, D
// positive and diagonal) with the matrix of a graph, H_ij = -f'(theta_i - theta_j)/n off the
// diagonal and rows that sum to 0. By Sylvester's law H and DH have as many eigenvalues of each
// sign: a state is stable for SA where it is for USA. f' = e^{beta cos x}(cos x - beta sin^2 x) is
// negative beyond some angle, which is below 120 degrees for beta > -2/3.
#pragma once

#include <span>
#include <vector>

namespace attractor::meanfield {

struct CircleRest {
  std::vector<double> angles;  // after Newton's method
  /// The smallest eigenvalue of H but for that of rotations, 0; and how far the one of the exact
  /// rest state may be from it: residual of the eigenvector, rounding, and what Newton left over.
  double least = 0, error = 0;
  bool found = false;  // Newton's method came to rest
  bool stable() const { return found && least > error; }
  bool unstable() const { return found && least < -error; }
};

/// The state of rest next to these angles, beta from -20 to 100; cost O(n^3).
CircleRest rest_near(std::span<const double> angles, double beta);

}  // namespace attractor::meanfield
