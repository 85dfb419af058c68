// Ways out of a critical point of the energy of tokens x_i on S^{d-1} with masses m_i of sum 1,
//
//   E = (1/2 beta) sum_ij m_i m_j e^{beta (c_ij - 1)},   c_ij = <x_i, x_j>,
//
// e^{-beta} times that of unnormalised attention, which climbs it: at a critical point the
// eigenvalues of the second derivative, in the metric sum m_i |v_i|^2, are its growth rates per
// e^{-beta} of time. Along great circles, with v_i tangent,
//
//   E''(v) = (1/2) sum_ij m_i m_j e^{beta (c_ij - 1)} (2 <v_i,v_j> - (|v_i|^2 + |v_j|^2) c_ij
//            + beta (<v_i,x_j> + <x_i,v_j>)^2).
//
// All tokens turned towards one vector w, v_i = P_i w, and the sum over an orthonormal frame of w:
//
//   sum_w E''(v) = sum_ij m_i m_j e^{beta (c_ij - 1)} (1 - c_ij) ((d-2-c_ij) + beta (1 - c_ij^2)),
//
// while sum_w sum_i m_i |v_i|^2 = d - 1. For d >= 3 no term is negative, and all vanish only if
// the tokens are one: every other critical point has a direction that grows at least at
// sum/(d-1). This is the whole proof that none of them is a local maximum.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace attractor::meanfield {

/// A number and how far from it the truth may be.
struct Enclosed {
  double value = 0, error = 0;
  double least() const { return value - error; }
};

struct Escape {
  /// An eigenvalue of E'' is within this: the largest one as computed, its residual and the
  /// rounding of the matrix.
  Enclosed rate;
  /// sum/(d-1): a lower bound of the largest eigenvalue.
  Enclosed frame;
  double force = 0;                 // largest |x_i'| per e^{-beta} of time: 0 at a critical point
  std::vector<double> direction{};  // n x dim, of the rate; sum m_i |v_i|^2 = 1
};

/// tokens: n x dim, unit vectors; n dim at most 2048. masses: n positive numbers, or none for equal
/// ones; they are divided by their sum. beta >= 0.
Escape escape(std::span<const double> tokens, std::size_t dim, std::span<const double> masses,
              double beta);

}  // namespace attractor::meanfield
