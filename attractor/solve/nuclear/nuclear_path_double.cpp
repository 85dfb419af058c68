#include "attractor/base/dense.hpp"
#include "attractor/solve/nuclear/nuclear_rows.hpp"

namespace attractor::solve::nuclear {

static Vector<double> eigenvalues_of(const Matrix<double>& A) { return symmetric_eigenvalues(A); }

}  // namespace attractor::solve::nuclear

// After eigenvalues_of.
#include "attractor/solve/nuclear/nuclear_path-inl.hpp"

namespace attractor::solve::nuclear {

template struct RankOneRows<double>;
template class InteriorPoint<double>;
template Vector<double> singular_values(const Matrix<double>&);

}  // namespace attractor::solve::nuclear
