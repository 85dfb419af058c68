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

#include "attractor/solve/constraints.hpp"
#include "attractor/solve/nuclear/nuclear_certificate.hpp"

namespace attractor::solve {

struct NuclearMarginOptions {
  double tolerance = 1e-10;  // for relative_gap
  std::size_t max_iterations = 100;
};

/// Entries are finite. Without rows, or with no bound above 0, W = 0.
NuclearMargin nuclear_margin(const RankOneConstraints& constraints,
                             const NuclearMarginOptions& options = {});
/// Rows of rank one of differences of tokens, with a query for each input ([n][query_dim]) or one
/// for all; holds copies of all but the queries.
class RankOneDifferences {
 public:
  RankOneDifferences(const TokenDifferences& rows, std::span<const double> queries,
                     std::size_t query_dim);
  /// Views of this.
  RankOneConstraints constraints() const;

 private:
  std::vector<double> left_, tail_, bounds_;
  std::vector<std::size_t> query_;
  std::span<const double> queries_;
  std::size_t dim_, query_dim_;
};

/// Of differences of tokens, with a query for each input ([n][query_dim]) or one for all.
NuclearMargin nuclear_margin(const TokenDifferences& rows, std::span<const double> queries,
                             std::size_t query_dim, const NuclearMarginOptions& options = {});

}  // namespace attractor::solve
