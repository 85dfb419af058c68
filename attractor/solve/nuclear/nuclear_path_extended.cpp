#include "attractor/base/dense.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/solve/nuclear/nuclear_rows.hpp"

namespace attractor::solve::nuclear {

static Vector<Exact> eigenvalues_of(const Matrix<Exact>& A) {
  return extended_eigen(A, Vectors::none).values;
}

}  // namespace attractor::solve::nuclear

// After eigenvalues_of.
#include "attractor/solve/nuclear/nuclear_path-inl.hpp"

namespace attractor::solve::nuclear {

template struct RankOneRows<Exact>;
template class InteriorPoint<Exact>;

Exact feasible_scale(const RankOneRows<Exact>& rows, const Matrix<Exact>& W) {
  const Vector<Exact> margins = rows.products(W);
  Exact scale = 0;
  for (Index j = 0; j < rows.size(); ++j)
    if (rows.bounds[j] > 0)
      scale = margins[j] > 0 ? std::max(scale, rows.bounds[j] / margins[j]) : kInfinity;
  for (Index j = 0; j < rows.size(); ++j)
    if (rows.bounds[j] <= 0 && !(scale * margins[j] >= rows.bounds[j])) return kInfinity;
  return scale;
}

}  // namespace attractor::solve::nuclear
