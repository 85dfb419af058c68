// Equiangular tokens through discrete layers, exactly as an architecture computes them: layer k
// maps x_i = r theta_i to c_1 theta_i + c_2 sum_j theta_j, which stays equiangular. With s = 1 +
// (n-1) g, weights p_0 (own) and p (each other) and the scheme's (a, b): c_1 = a + b (p_0 - p),
// c_2 = b p,
//
//   norm^2 = c_1^2 + (2 c_1 c_2 + n c_2^2) s,    x <- x + 2 ln |1 + n c_2 / c_1|
//
// in the position x = ln(s / w) of equiangular_clock.hpp, so that nothing cancels near consensus or
// near the simplex. (a, b) = (1, h) post, (r, h) pre, (r, h / |A|) peri, (1 - h alpha, h alpha /
// |A|) ngpt, h / sqrt(1 + k h) for h where depth damps, (a, h) deepnorm. As h -> 0 the layers
// approach the flow with order 1. Cost O(1) a layer.
//
// Cosines that are only equal on average: theta_i = sqrt(g) u + sqrt(1-g) z_i with z_i independent
// and uniform on the unit sphere of R^D. Many such tokens keep this form under every layer, because
// nothing but u tells a direction from another. With tau = beta (1-g), M = E e^{tau <z, z'>} and
// kappa = (ln M)'(tau) (the mean of z where it is tilted towards z_i is kappa z_i),
//
//   p_0 = 1 / (1 + (n-1) M e^{-tau}),   A_i = (p_0 + (1-p_0) kappa) theta_i
//                                             + (1-p_0)(1-kappa) times the mean of the others
//
// so that only the two weights change. kappa = tau / (a + q), ln M = q - a - a ln((a+q) / 2a) with
// a = D/2, q = sqrt(tau^2 + a^2): exact to second order in tau and in the limit of large tau, and
// the integral of one is the other. Equal cosines are D = infinity. How far finitely many tokens
// are off: commands/architect/turning_band.hpp.
#pragma once

#include <cstddef>
#include <vector>

#include "attractor/base/numbers.hpp"
#include "attractor/reductions/equiangular.hpp"

namespace attractor::meanfield {

/// After some layers.
struct EquiangularLayer {
  double cosine = 0, log_gap = 0;  // ln(1 - cosine); -infinity where a layer lands on consensus
  double log_norm = 0;             // ln r
  double gap() const { return std::exp(log_gap); }
  double norm() const { return std::exp(log_norm); }
};

/// The start and the states after 1 .. count layers, each of depth `step` (1e-9 to 1e6). Softmax
/// attention only. Under mix the layers k with k * step below switch_time are post-norm.
/// `dimension`: D, 2 or more.
std::vector<EquiangularLayer> layers(const Equiangular& e, double step, std::size_t count,
                                     double dimension = kInfinity);

}  // namespace attractor::meanfield
