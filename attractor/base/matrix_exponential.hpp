// e^A = sum_k A^k / k! of a square matrix, by a Pade approximant of A / 2^s squared s times (Higham
// 2005); compiled here once, because the templates of Eigen behind it take long.
#pragma once

#include "attractor/base/dense.hpp"

namespace attractor {

RowMatrix matrix_exponential(const RowMatrix& A);

}  // namespace attractor
