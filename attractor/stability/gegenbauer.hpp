// Zonal functions on S^{d-1}: functions of t = <x, pole>. With respect to the law of t under the
// uniform probability, density proportional to (1-t^2)^{(d-3)/2}, the polynomials p_0 = 1, p_1, ...
// are orthonormal (Gegenbauer, Chebyshev for d = 2, Legendre for d = 3):
//
//   t p_l = a_{l+1} p_{l+1} + a_l p_{l-1},  a_l^2 = l (l+d-3) / ((2l+d-2)(2l+d-4)),  a_1^2 = 1/d.
//
// A zonal probability density (with respect to uniform) is f = sum_l c_l p_l with c_l = E[p_l(t)];
// p_l is an eigenfunction of the Laplacian, and of attention with eigenvalue lambda_l
// (sphere_spectrum.hpp). The Gauss rule integrates polynomials of degree < 2 * nodes exactly.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace attractor::meanfield {

class Gegenbauer {
 public:
  /// Polynomials of degree 0 .. count-1.
  Gegenbauer(std::size_t dim, std::size_t count);

  std::size_t dim() const { return dim_; }
  std::size_t count() const { return coefficients_.size(); }
  /// out[l] = p_l(t).
  void values(double t, std::span<double> out) const;
  /// p[l] = p_l(t) and slopes[l] = p_l'(t).
  void values_and_slopes(double t, std::span<double> p, std::span<double> slopes) const;

 private:
  std::size_t dim_;
  std::vector<double> coefficients_;  // a_0 (unused), a_1, ..., a_{count-1}
};

struct GaussRule {
  std::vector<double> nodes;    // in (-1, 1), ascending, symmetric
  std::vector<double> weights;  // positive, of sum 1
};

/// For the law of t on S^{d-1}. Cost O(nodes^2).
GaussRule gauss_rule(std::size_t dim, std::size_t nodes);

}  // namespace attractor::meanfield
