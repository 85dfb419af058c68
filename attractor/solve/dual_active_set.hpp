// The dual active-set method of Goldfarb and Idnani, "A numerically stable dual method for solving
// strictly convex quadratic programs" (Math. Programming 27, 1983), for the identity Hessian:
//
//   minimise 1/2 |p|^2   subject to   <g, p> >= h   for the rows given so far.
//
// With the active rows N^T p = h, N = Q R, the point is p = Q R^{-T} h and its multipliers are
// l = R^{-1} R^{-T} h > 0. A violated row g enters along the part of g orthogonal to N; rows whose
// multiplier would turn negative on the way leave. If g lies in the span of N and none blocks,
// g - N r = 0 with r <= 0 is a proof of infeasibility. |p| never falls.
//
// Cost of an entry or departure: d k for k active rows, plus d for every row held.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "attractor/solve/active_qr.hpp"
#include "attractor/solve/constraints.hpp"

namespace attractor::solve {

enum class ActiveSetOutcome {
  solved,      // no row held is violated beyond rounding
  infeasible,  // farkas() says why
  stalled,     // steps at rounding level no longer end
  iteration_limit,
};

class DualActiveSet {
 public:
  explicit DualActiveSet(std::size_t dim);

  std::size_t held() const { return rows_.size(); }
  /// Forgets the rows that are not active.
  void keep_active();
  /// norm = |row| > 0. The index is what results call this row. The steps take the row as it is;
  /// the point and the multipliers they end with are refined for row + tail (empty: 0).
  void add(std::size_t index, std::span<const double> row, std::span<const double> tail,
           double norm, double bound);
  /// Enters rows, the most violated (in distance) first; counts entries and departures.
  ActiveSetOutcome solve(std::size_t& iterations, std::size_t limit);

  std::span<const double> point() const { return p_; }
  std::vector<std::size_t> active() const;
  std::vector<Multiplier> multipliers() const;  // p = sum value g_index
  std::vector<Multiplier> farkas() const { return farkas_; }
  /// p before it was rounded to doubles, moved so that every active row gains amount |g|.
  std::vector<long double> lifted(double amount) const;

 private:
  struct Row {
    std::size_t index;
    double norm, bound;
  };

  std::span<const double> entries(std::size_t row) const { return {&entries_[row * dim_], dim_}; }
  std::span<const double> tail(std::size_t row) const { return {&tails_[row * dim_], dim_}; }
  void subtract(std::span<long double> from, double weight, std::size_t row) const;
  double violation(std::size_t row) const;
  double resolution(std::size_t row) const;
  std::size_t most_violated();
  ActiveSetOutcome enter(std::size_t row, std::size_t& iterations, std::size_t limit);
  void leave(std::size_t position);
  void settle();
  void refine();
  std::vector<double> correction(std::span<const long double> point, double amount) const;
  void prove_infeasible(std::size_t row, std::vector<double> r);

  std::size_t dim_;
  ActiveQr qr_;
  std::vector<Row> rows_{};
  std::vector<double> entries_{};      // rows_.size() x dim
  std::vector<double> tails_{};        // the same
  std::vector<std::size_t> active_{};  // positions in rows_, as the columns of N
  std::vector<char> is_active_{};
  std::vector<double> p_, lambda_{}, products_{};
  std::vector<long double> unrounded_;  // p, since the last solve()
  std::vector<Multiplier> farkas_{};
};

}  // namespace attractor::solve
