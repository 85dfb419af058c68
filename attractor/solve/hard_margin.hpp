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
// such point beside p, upper_is_proved says so. Bounds use the rows as Constraints gives them;
// every sum that decides is in extended precision.
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
  std::vector<double> p{};
  double norm = 0;                    // |p|; the margin if all h = 1 is 1 / norm
  std::vector<Multiplier> support{};  // p = sum value g_index, at most d rows; none if infeasible
  double relative_gap = 1;            // (upper - lower) / upper of the bounds on |p*|
  bool upper_is_proved = true;        // false: |p| plus what its violations cost to first order
  double smallest_slack = 0;          // min_j <g_j, p> - h_j
  std::vector<Multiplier> farkas{};   // no feasible p has norm < sum value h / |sum value g|
  double farkas_residual = 0;         // |sum value g| / sum value |g|
  std::size_t rounds = 0, iterations = 0;
};

/// Rows and bounds are finite. Without rows, p = 0.
HardMargin hard_margin(const Constraints& constraints, const HardMarginOptions& options = {});

}  // namespace attractor::solve
