// The hard-margin problem in the spectral norm (largest singular value)
//
//   minimise |W|_op   subject to   <g_j z_q(j)^T, W> >= h_j,  j = 0..m-1,   W in R^{a x b},
//
// the limit direction of steepest descent in that norm, which Muon's step is. It is the nuclear
// problem of nuclear_margin.hpp with both norms exchanged: for lambda >= 0,
// S = sum_j lambda_j g_j z_q(j)^T, any feasible W, and the optimum W*,
//
//   |W|_op >= |W*|_op >= sum_j lambda_j h_j / |S|_*   (sum of singular values):
//
// both sides are evaluated again at the end and rounded outwards, as there. The interior-point
// method (Mehrotra's corrector, HKM direction, extended precision) follows
//
//   P = [t I  W; W^T  t I] >= 0   and   Y >= 0,   tr Y = 1,   Y_12 = -S / 2,   P Y = mu I,
//
// with W and t as unknowns of Newton's system. Feasibility does not depend on the norm:
// hard_margin decides it. The solution need not be unique; the point given is about the middle of
// all of them.
//
// Gaps of 1e-11 are usual. Where the solution is not unique Newton's matrix becomes singular, and
// they may end near 1e-9.
//
// a and b are at most the dimensions of the spans of the g_j and of the z_i. Cost of one of 10 to
// 30 iterations: (a b)^3 / 3 + m (a b)^2. Memory: (a b)^2 numbers.
#pragma once

#include <cstddef>
#include <span>

#include "attractor/solve/constraints.hpp"
#include "attractor/solve/nuclear/nuclear_certificate.hpp"

namespace attractor::solve {

inline constexpr std::size_t kSpectralEntries = 1600;  // of W inside the spans, at most

struct SpectralMarginOptions {
  double tolerance = 1e-9;  // for relative_gap
  std::size_t max_iterations = 100;
};

/// As nuclear_margin, with norm, bounds and multipliers (|S|_* = 1) of this problem. Throws Error
/// if W has more than kSpectralEntries entries inside the spans.
NuclearMargin spectral_margin(const RankOneConstraints& constraints,
                              const SpectralMarginOptions& options = {});
/// Of differences of tokens, with a query for each input ([n][query_dim]) or one for all.
NuclearMargin spectral_margin(const TokenDifferences& rows, std::span<const double> queries,
                              std::size_t query_dim, const SpectralMarginOptions& options = {});

}  // namespace attractor::solve
