// The factors A = Q R of a matrix whose columns come and go: the active rows of an active-set
// method. Q is rows x k with orthonormal columns, R is k x k upper triangular; both are stored, so
// neither the Gram matrix nor its squared condition number ever appears.
//
// A column enters by Gram-Schmidt done twice ("twice is enough", Kahan and Parlett) and leaves by
// plane rotations (Golub, Van Loan, Matrix Computations, 6.5). Cost: rows k for every operation,
// k^2 for a triangular solve; memory rows k + k^2, grown as columns arrive.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace attractor::solve {

class ActiveQr {
 public:
  explicit ActiveQr(std::size_t rows) : rows_(rows) {}

  std::size_t rows() const { return rows_; }
  std::size_t size() const { return size_; }

  /// x = Q along + rest with Q^T rest = 0; along has size() entries. Returns |rest|.
  double split(std::span<const double> x, std::span<double> along, std::span<double> rest) const;
  /// Appends the column that split() took apart; rest_norm > 0.
  void append(std::span<const double> along, std::span<const double> rest, double rest_norm);
  /// split() and append() in one; false, and no change, if |rest| <= dependent |x|.
  bool insert(std::span<const double> x, double dependent);
  void erase(std::size_t column);

  void solve(std::span<double> x) const;                                           // x <- R^{-1} x
  void solve_transposed(std::span<double> x) const;                                // x <- R^{-T} x
  void multiply(std::span<const double> u, std::span<double> x) const;             // x = Q u
  void multiply_transposed(std::span<const double> x, std::span<double> u) const;  // u = Q^T x

 private:
  void reserve(std::size_t columns);

  std::size_t rows_, size_ = 0, capacity_ = 0;
  std::vector<double> q_, r_;  // column-major, leading dimensions rows_ and capacity_
};

}  // namespace attractor::solve
