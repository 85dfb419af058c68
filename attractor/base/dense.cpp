#include "attractor/base/dense.hpp"

#include <Eigen/Eigenvalues>
#include <Eigen/LU>

namespace attractor {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using Symmetric = Eigen::SelfAdjointEigenSolver<MatrixXd>;

SymmetricEigen symmetric_eigen(const MatrixXd& A) {
  const Symmetric solver(A);
  return {solver.eigenvalues(), solver.eigenvectors()};
}

VectorXd symmetric_eigenvalues(const MatrixXd& A) {
  return Symmetric(A, Eigen::EigenvaluesOnly).eigenvalues();
}

std::vector<std::complex<double>> general_eigenvalues(const MatrixXd& A) {
  const Eigen::VectorXcd values = Eigen::EigenSolver<MatrixXd>(A, false).eigenvalues();
  return {values.data(), values.data() + values.size()};
}

VectorXd tridiagonal_eigenvalues(const VectorXd& diagonal, const VectorXd& beside) {
  Symmetric solver;
  solver.computeFromTridiagonal(diagonal, beside, Eigen::EigenvaluesOnly);
  return solver.eigenvalues();
}

struct Lu::Factors {
  Eigen::PartialPivLU<MatrixXd> lu;
};

Lu::Lu(const MatrixXd& A) : factors_(std::make_unique<Factors>(Factors{A.partialPivLu()})) {}
Lu::Lu(Lu&&) noexcept = default;
Lu& Lu::operator=(Lu&&) noexcept = default;
Lu::~Lu() = default;

VectorXd Lu::solve(const VectorXd& b) const { return factors_->lu.solve(b); }

VectorXd lu_solve(const MatrixXd& A, const VectorXd& b) { return Lu(A).solve(b); }

}  // namespace attractor
