// One step after another of the interior-point method of nuclear_margin.hpp.
#pragma once

#include <numeric>
#include <utility>
#include <vector>

#include "attractor/solve/nuclear/nuclear_rows.hpp"

namespace attractor::solve::nuclear {

// An iterate: Z follows from lambda.
template <class Real>
struct Point {
  Matrix<Real> X;
  Vector<Real> slack, lambda;
  template <class Other>
  Point<Other> as() const {
    return {X.template cast<Other>(), slack.template cast<Other>(), lambda.template cast<Other>()};
  }
};

template <class Real>
class InteriorPoint {
 public:
  InteriorPoint(RankOneRows<Real> rows, Point<Real> start)
      : rows_(std::move(rows)), at_(std::move(start)), open_(rows_.query.size()) {
    std::iota(open_.begin(), open_.end(), Index{0});
  }

  const Point<Real>& point() const { return at_; }
  // False: rounding stopped it.
  bool advance();

 private:
  struct Step {
    Matrix<Real> X, Z;
    Vector<Real> slack, lambda;
  };
  // <A_j, Y_12> for all j
  Vector<Real> corner_products(const Matrix<Real>& Y) const {
    return rows_.products(Y.topRightCorner(rows_.left.cols(), rows_.right.cols()));
  }
  // scale [0 S; S^T 0] with S = sum_j lambda_j A_j
  Matrix<Real> off_diagonal(const Vector<Real>& lambda, Real scale) const;
  Matrix<Real> newton_matrix(const Matrix<Real>& inverse) const;
  // Newton's, towards X Z = target plus corrections; aim = (target - correction) Z^-1.
  Step direction(const Matrix<Real>& factor, const Matrix<Real>& inverse, const Matrix<Real>& aim,
                 Real target, const Vector<Real>& slack_correction) const;

  RankOneRows<Real> rows_;
  Point<Real> at_;
  Real residual_ = 1;  // of <A_j, W> - slack_j = h_j, over what it was first
  // Rows whose slack still moves. The others have lambda = mu / slack up to second order, which
  // leaves them out of the linear system.
  std::vector<Index> open_;
};

extern template class InteriorPoint<double>;
extern template class InteriorPoint<Exact>;

}  // namespace attractor::solve::nuclear
