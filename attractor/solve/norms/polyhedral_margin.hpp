// The margin problem in the two norms whose balls are polytopes,
//
//   minimise |w|_inf  or  |w|_1   subject to   <g_j, w> >= h_j,  j = 0..m-1,   w in R^d:
//
// the limit directions of sign descent and Adam, and of coordinate descent. They are linear
// programs: with t_a = t for all a (largest), or a t_a for each entry (sum),
//
//   minimise t  or  sum_a t_a   subject to   G w - s = h,   t - w - p = 0,   t + w - n = 0,
//   s, p, n >= 0.
//
// Its multipliers lambda, u, v >= 0 obey G^T lambda = u - v, and sum_a u_a + v_a = 1 or u_a + v_a =
// 1 for each a. A primal-dual interior-point method with Mehrotra's corrector (SIAM J. Optim. 2,
// 1992) follows both in extended precision. For lambda >= 0 and any feasible w,
//
//   |w| >= |w*| >= sum_j lambda_j h_j / |G^T lambda|_dual   (dual: the other of the two norms);
//
// both bounds are formed from scratch at the end and rounded outwards (margin_proof.hpp).
// Feasibility does not depend on the norm: hard_margin decides it.
//
// The solution need not be unique; the point given is about the middle of all of them.
//
// Cost of one of 10 to 30 iterations: min(m, d)^2 max(m, d). Memory: 2 m d + min(m, d)^2 numbers.
#pragma once

#include "attractor/solve/norms/lp_margin.hpp"
#include "attractor/solve/norms/polyhedral_norm.hpp"

namespace attractor::solve {

struct PolyhedralMarginOptions {
  PolyhedralNorm norm = PolyhedralNorm::largest;
  double tolerance = 1e-10;  // for relative_gap
  std::size_t max_iterations = 100;
};

/// Rows and bounds are finite. Without rows, w = 0. iterations: of the interior-point method.
LpMargin polyhedral_margin(const Constraints& constraints,
                           const PolyhedralMarginOptions& options = {});

}  // namespace attractor::solve
