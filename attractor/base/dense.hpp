// Decompositions of dense matrices, compiled here once: the templates of Eigen behind them cost
// seconds in every file that names them (docs/decisions/build_time.md).
//
//   A = V diag(values) V^T           symmetric: of its lower triangle alone; values ascend
//   A P = Q R                        columns pivoted by length: rank, least squares, span
//   A = Q R                          orthonormal basis of independent columns
//   min |x| among min |A x - b|      complete orthogonal decomposition
//   A x = b                          LU, rows pivoted
#pragma once

#include <Eigen/Core>
#include <complex>
#include <memory>
#include <vector>

namespace attractor {

using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

struct SymmetricEigen {
  Eigen::VectorXd values;   // ascending
  Eigen::MatrixXd vectors;  // columns
};
SymmetricEigen symmetric_eigen(const Eigen::MatrixXd& A);
Eigen::VectorXd symmetric_eigenvalues(const Eigen::MatrixXd& A);
/// Of any square matrix, in no order.
std::vector<std::complex<double>> general_eigenvalues(const Eigen::MatrixXd& A);
/// Of the symmetric tridiagonal matrix with this diagonal and the entries beside it.
Eigen::VectorXd tridiagonal_eigenvalues(const Eigen::VectorXd& diagonal,
                                        const Eigen::VectorXd& beside);

/// The same in extended precision.
struct ExtendedEigen {
  Eigen::Matrix<long double, Eigen::Dynamic, 1> values;
  Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic> vectors;  // empty if not asked for
};
enum class Vectors { none, all };
ExtendedEigen extended_eigen(const Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>& A,
                             Vectors vectors);

/// A P = Q R. A pivot counts if it is above `threshold` times the largest; 0: the size of A times
/// rounding.
class PivotedQr {
 public:
  explicit PivotedQr(const Eigen::MatrixXd& A, double threshold = 0);
  PivotedQr(PivotedQr&&) noexcept;
  ~PivotedQr();

  Eigen::Index rank() const;
  /// Orthonormal basis of the columns of A: the first rank() columns of Q.
  Eigen::MatrixXd span() const;
  /// Least squares: x that makes |A x - b| smallest, with zeros for what the rank leaves open.
  Eigen::VectorXd solve(const Eigen::VectorXd& b) const;
  void apply_q(Eigen::VectorXd& u) const;             // u <- Q u
  void apply_q_transposed(Eigen::VectorXd& u) const;  // u <- Q^T u

 private:
  struct Factors;
  std::unique_ptr<const Factors> factors_;
};

/// Q of A = Q R, as large as A, which has at least as many rows as columns.
Eigen::MatrixXd thin_q(const Eigen::MatrixXd& A);

/// The shortest x of those that make |A x - b| smallest.
Eigen::VectorXd shortest_solution(const RowMatrix& A, const Eigen::VectorXd& b);

/// A x = b, A square and regular, for several b.
class Lu {
 public:
  explicit Lu(const Eigen::MatrixXd& A);
  Lu(Lu&&) noexcept;
  Lu& operator=(Lu&&) noexcept;
  ~Lu();
  Eigen::VectorXd solve(const Eigen::VectorXd& b) const;

 private:
  struct Factors;
  std::unique_ptr<const Factors> factors_;
};
Eigen::VectorXd lu_solve(const Eigen::MatrixXd& A, const Eigen::VectorXd& b);

}  // namespace attractor
