#include <Eigen/Eigenvalues>

#include "attractor/base/dense.hpp"

namespace attractor {

using Matrix = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;

ExtendedEigen extended_eigen(const Matrix& A, Vectors vectors) {
  if (vectors == Vectors::all) {
    const Eigen::SelfAdjointEigenSolver<Matrix> solver(A);
    return {solver.eigenvalues(), solver.eigenvectors()};
  }
  return {Eigen::SelfAdjointEigenSolver<Matrix>(A, Eigen::EigenvaluesOnly).eigenvalues(), {}};
}

}  // namespace attractor
