// The margin problem in another norm,
//
//   minimise |w|_p   subject to   <g_j, w> >= h_j,  j = 0..m-1,   w in R^d,   1 < p < infinity,
//
// the limit direction of l_p mirror descent ("Optimizing Attention with Mirror Descent",
// arXiv 2410.14581). With u = G^T lambda, lambda >= 0 and 1/p + 1/q = 1 the optimum is the point
// where w_b = sign(u_b) |u_b|^(q-1) up to a factor. This curve, a graph over w for p >= 2 and over
// u for p <= 2, is smooth; its tangent at the last iterate turns the problem into
//
//   minimise 1/2 |y|^2   subject to   <M^(1/2) g_j, y> >= h_j - <g_j, c>,   w = c + M^(1/2) y
//
// with M diagonal: a hard-margin problem (hard_margin.hpp), solved by its dual active-set method
// from the last support, all rows priced. An exact line search, over feasible w for p >= 2 and over
// lambda >= 0 for p <= 2, makes this Newton iteration monotone; p moves from 2 to its value in a
// few stages. For lambda >= 0 and any feasible w,
//
//   |w|_p >= |w*|_p >= sum_j lambda_j h_j / |G^T lambda|_q:
//
// both bounds are formed from scratch at the end and rounded outwards (margin_proof.hpp).
// Feasibility does not depend on the norm: hard_margin decides it.
//
// A gap of 1e-12 fixes w to about the root of that, and for large p leaves entries far below the
// largest almost free: the norm and the margin are what is proved.
//
// Cost of each of 1 to 25 steps: m d for pricing, d k^2 for the k <= d rows of the support.
// Memory: 2 m + O(d^2) doubles beside the data.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "attractor/solve/constraints.hpp"
#include "attractor/solve/hard_margin.hpp"
#include "attractor/solve/margin_proof.hpp"
#include "attractor/solve/margin_status.hpp"

namespace attractor::solve {

struct LpMarginOptions {
  double p = 2;                      // 1.02 to 50
  double tolerance = 1e-10;          // for relative_gap
  std::size_t max_iterations = 200;  // Newton steps
};

struct LpMargin {
  MarginStatus status = MarginStatus::optimal;
  std::vector<double> w{};
  double norm = 0;                    // |w|_p; the margin if all h = 1 is 1 / norm
  double lower = 0, upper = 0;        // of |w*|_p, see HardMargin
  double relative_gap = 1;            // (upper - lower) / upper
  bool upper_is_proved = true;        // false: |w|_p plus what its violations cost to first order
  double smallest_slack = 0;          // at most min_j <g_j, w> - h_j
  std::vector<Multiplier> support{};  // w_b ~ sign(u_b) |u_b|^(q-1), u = sum value g_index
  std::vector<Multiplier> farkas{};   // see HardMargin
  double farkas_residual = 0;
  std::size_t iterations = 0;  // Newton steps
};

/// Rows and bounds are finite. Without rows, w = 0.
LpMargin lp_margin(const Constraints& constraints, const LpMarginOptions& options = {});

/// The start of any norm: what the Euclidean solution knows. `answered`: all there is to know, as
/// nothing is feasible or w = 0 is. dual_norm: of the rows of a combination, from above.
struct LpMarginStart {
  LpMargin found{};
  bool answered = false;
};
LpMarginStart start_from(const HardMargin& euclidean, const Constraints& constraints,
                         double tolerance,
                         const std::function<long double(const Combination&)>& dual_norm);
/// Sets the status by the gap that was reached, and else by what ended the search.
void judge(LpMargin& found, double tolerance, std::size_t max_iterations);

}  // namespace attractor::solve
