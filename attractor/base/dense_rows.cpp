#include <Eigen/QR>

#include "attractor/base/dense.hpp"

namespace attractor {

Eigen::VectorXd shortest_solution(const RowMatrix& A, const Eigen::VectorXd& b) {
  return A.completeOrthogonalDecomposition().solve(b);
}

}  // namespace attractor
