// The hard-margin problem
//
//   minimise 1/2 |p|^2   subject to   <g_j, p> >= h_j,  j = 0..m-1,   p in R^d,
//
// whose rows are key differences k_{i,alpha_i} - k_{i,t} in attention ("Max-Margin Token Selection
// in Attention Mechanism", arXiv 2306.13596). A working-set loop prices all rows with one product
// G p, hands the worst violated row of each group to a dual active-set method (dual_active_set.hpp)
// and ends when no violation exceeds rounding. For lambda >= 0, any feasible q, and p*,
//
//   |q| >= |p*| >= sum_j lambda_j h_j / |G^T lambda|:
//
// the second bound is optimality, and infeasibility when it exceeds every norm (Farkas). q is p,
// scaled or moved by a few roundings until it is feasible as checked row by row; if there is no
// such point beside p, upper_is_proved says so. Both bounds are rounded outwards (margin_proof.hpp)
// and hold for the rows with their tails, so for the data as given: |p*| lies between lower and
// upper. Near infeasibility (|p*| |g| = 1e12, say) they part: p is rounded, and every product with
// it by |g| |p| 1e-16.
//
// A sum of multipliers in floating point rarely cancels to exactly zero. So "infeasible" is a
// residual at rounding level, and what it proves is lower: no p of a smaller norm is feasible. That
// is no p at all if lower is infinite; else exact_margin.hpp decides.
//
// Cost: m d for each round (about ten), d k for each change of the k <= d support rows.
// Memory: 2 m + O(d min(m, d)) doubles beside the data.
#pragma once

#include <cstddef>
#include <vector>

#include "attractor/solve/constraints.hpp"
#include "attractor/solve/margin_status.hpp"

namespace attractor::solve {

struct HardMarginOptions {
  double tolerance = 1e-12;        // for relative_gap
  std::size_t max_iterations = 0;  // rows that enter or leave; 0: 10000 + 200 dim
};

struct HardMargin {
  MarginStatus status = MarginStatus::optimal;
  std::vector<double> p{};            // p* to the nearest doubles, which need not be feasible
  std::vector<double> p_tail{};       // p + p_tail, scaled by upper / |p + p_tail|, is feasible
  double norm = 0;                    // |p*|; the margin if all h = 1 is 1 / norm
  double lower = 0, upper = 0;        // of |p*|; infeasible: lower is proved, upper infinite
  double relative_gap = 1;            // (upper - lower) / upper; 1 if upper is infinite
  bool upper_is_proved = true;        // false: |p| plus what its violations cost to first order
  double smallest_slack = 0;          // at most min_j <g_j, p> - h_j
  std::vector<Multiplier> support{};  // p = sum value g_index, at most d rows; none if infeasible
  std::vector<Multiplier> farkas{};   // no feasible p has norm < sum value h / |sum value g|
  double farkas_residual = 0;         // |sum value g| / sum value |g|
  std::size_t rounds = 0, iterations = 0;
};

/// Rows and bounds are finite. Without rows, p = 0.
HardMargin hard_margin(const Constraints& constraints, const HardMarginOptions& options = {});

}  // namespace attractor::solve
