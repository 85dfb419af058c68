// The hard-margin problem in the nuclear norm (sum of singular values)
//
//   minimise |W|_*   subject to   <g_j z_q(j)^T, W> >= h_j,  j = 0..m-1,   W in R^{a x b},
//
// to which attention trained through W = K Q^T converges in direction ("Transformers as Support
// Vector Machines", arXiv 2308.16898): g_j are key differences, z_i the queries. For lambda >= 0,
// S = sum_j lambda_j g_j z_q(j)^T, any feasible W, and the optimum W*,
//
//   |W|_* >= |W*|_* >= sum_j lambda_j h_j / |S|_op   (largest singular value):
//
// both sides are evaluated again from W and lambda when the solver has ended, and rounded outwards:
// every sum, and the singular values themselves, carry a bound of their rounding. It is a
// primal-dual interior-point method with Mehrotra's corrector and the HKM direction (Helmberg,
// Rendl, Vanderbei, Wolkowicz, SIAM J. Optim. 6, 1996) for the pair of matrices
//
//   X = [X_1 W; W^T X_2] >= 0, |W|_* <= tr X / 2,   and   Z = [I -S; -S^T I] / 2 >= 0,
//
// in doubles as far as they reach, then in extended precision. If it meets no feasible W, the
// Frobenius problem (hard_margin.hpp) decides: feasibility does not depend on the norm.
//
// Gaps of 1e-12 are usual on request. Where far more rows are tight than W has entries, lambda is
// not unique, the Newton matrix is singular and the gap may end near 1e-8: precision_limit.
//
// Cost of one of 10 to 20 iterations: k^2 (a + k) + m (a + b) + (a + b)^3 for the k <= m rows whose
// slack still moves; few are left at the end. Memory: k (k + a + n) + (a + b)^2 numbers, and three
// copies of the rows. Few rows or queries count as the dimension a or b if they are less.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "attractor/solve/margin_status.hpp"

namespace attractor::solve {

/// Views of row-major arrays. Row j pairs g_j with z_query[j].
struct RankOneConstraints {
  std::span<const double> left{};   // g: m x left_dim
  std::span<const double> right{};  // z: n x right_dim
  std::size_t left_dim = 1, right_dim = 1;
  std::span<const std::size_t> query{};  // q: m entries below n; empty: q(j) = j, so m = n
  std::span<const double> bounds{};      // h: m entries; empty: all 1
  std::span<const double> left_tail{};   // g is left + left_tail; empty: 0
};

struct NuclearMarginOptions {
  double tolerance = 1e-10;  // for relative_gap
  std::size_t max_iterations = 100;
};

struct NuclearMargin {
  MarginStatus status = MarginStatus::optimal;
  std::vector<double> W{};                // left_dim x right_dim
  double norm = 0;                        // |W|_*
  double upper = 0, lower = 0;            // of |W*|_*; upper is infinite if W is not feasible,
                                          // lower is what farkas proves then
  double relative_gap = 1;                // (upper - lower) / upper
  std::vector<double> multipliers{};      // lambda, with |S|_op = 1, or 0
  std::vector<double> singular_values{};  // of W, descending
  std::size_t rank = 0;                   // singular values above 1e-7 of the largest
  std::size_t iterations = 0;
  std::vector<double> farkas{};  // lambda >= 0 with S = 0 and sum lambda h > 0
  double farkas_residual = 0;    // |S|_F / sum lambda |g| |z|
};

/// Entries are finite. Without rows, or with no bound above 0, W = 0.
NuclearMargin nuclear_margin(const RankOneConstraints& constraints,
                             const NuclearMarginOptions& options = {});

}  // namespace attractor::solve
