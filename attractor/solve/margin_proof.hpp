// What a point and multipliers prove about  minimise |p| subject to <g_j, p> >= h_j,  whatever
// rounding did to them. For lambda >= 0, any norm and any feasible q,
//
//   |q| >= |p*| >= sum_j lambda_j h_j / |sum_j lambda_j g_j|_dual.
//
// Sums over rows are enclosed (enclosed_sum.hpp), with the tails of the rows, so that slacks, and
// the two sums of the lower bound, are proved for the data as given. Products of all rows at once
// are plain doubles; rows that these cannot decide are looked at one by one.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "attractor/solve/constraints.hpp"

namespace attractor::solve {

/// sum lambda g and sum lambda h.
struct Combination {
  std::vector<long double> rows{};     // off by at most `error` in the sum of moduli
  long double error = 0;               // ... and so in every norm |.|_q, q >= 1
  long double bounds = 0, least = 0;   // sum lambda h, and a proved lower bound of it
  long double terms = 0, lengths = 0;  // sum lambda |h| and sum lambda |g|, about

  /// least / (norm + error), rounded down: norm of `rows` in the dual norm, from above. 0 if
  /// nothing is proved; infinite if the rows cancel exactly (Farkas).
  double lower_bound(long double norm) const;
};

class MarginProof {
 public:
  /// A view. Throws Error if a row or a bound is not finite.
  explicit MarginProof(const Constraints& constraints);

  std::span<const double> norms() const { return norms_; }  // |g_j|
  Combination combine(std::span<const Multiplier> lambda) const;
  /// At most <g_j, q> - h_j.
  long double slack(std::size_t j, std::span<const long double> q) const;
  /// At most min_j <g_j, p> - h_j; infinite without rows.
  double smallest_slack(std::span<const double> p);
  /// Rows that p may violate for all that doubles can tell.
  std::vector<std::size_t> doubtful(std::span<const double> p);
  /// At least the largest distance of p from a half-space it is not in.
  double violation(std::span<const double> p);
  /// <g_j, q> of all rows; where doubles are off by more than near / 1000, those below h_j + near
  /// are enclosed sums.
  std::vector<double> margins(std::span<const long double> q, double near);
  /// The smallest s >= 1, rounded up, with which s q is proved feasible; infinite if none is found.
  long double feasible_scale(std::span<const long double> q);

 private:
  // Of the double product <g_j, p>, whatever the order of summation and with p itself rounded.
  double product_error(std::size_t j, double norm) const;

  const Constraints& constraints_;
  std::vector<double> norms_, products_;
};

/// The Euclidean norm from above.
long double length_above(std::span<const long double> x);

}  // namespace attractor::solve
