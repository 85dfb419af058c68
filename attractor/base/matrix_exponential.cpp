#include "attractor/base/matrix_exponential.hpp"

#include <unsupported/Eigen/MatrixFunctions>

namespace attractor {

RowMatrix matrix_exponential(const RowMatrix& A) { return A.exp(); }

}  // namespace attractor
