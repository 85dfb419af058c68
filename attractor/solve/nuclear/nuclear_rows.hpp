// Rows of rank one, A_j = g_j z_q(j)^T, and their bounds h_j, in doubles or in extended precision.
// What takes long to compile lies in nuclear_path-inl.hpp, instantiated in one file for each
// precision.
#pragma once

#include <Eigen/Core>
#include <vector>

namespace attractor::solve::nuclear {

using Index = Eigen::Index;
template <class Real>
using Matrix = Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic>;
template <class Real>
using Vector = Eigen::Matrix<Real, Eigen::Dynamic, 1>;
template <class Real>
using Rows = Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

using Exact = long double;

// A_j = g_j z_q(j)^T and h_j.
template <class Real>
struct RankOneRows {
  Rows<Real> left, right;  // g: m x a, z: n x b
  std::vector<Index> query;
  Vector<Real> bounds;

  Index size() const { return left.rows(); }
  Index query_of(Index j) const { return query[static_cast<std::size_t>(j)]; }
  // sum_j lambda_j A_j
  Matrix<Real> combine(const Vector<Real>& lambda) const;
  // <A_j, W> for all j
  Vector<Real> products(const Matrix<Real>& W) const;
  template <class Other>
  RankOneRows<Other> as() const {
    return {left.template cast<Other>(), right.template cast<Other>(), query,
            bounds.template cast<Other>()};
  }
};

extern template struct RankOneRows<double>;
extern template struct RankOneRows<Exact>;

/// Of A, descending: the largest eigenvalues of [0 A; A^T 0], as exact as its norm allows.
template <class Real>
Vector<Real> singular_values(const Matrix<Real>& A);
extern template Vector<double> singular_values(const Matrix<double>&);

/// The smallest t for which t W is feasible; infinite if there is none.
Exact feasible_scale(const RankOneRows<Exact>& rows, const Matrix<Exact>& W);

}  // namespace attractor::solve::nuclear
