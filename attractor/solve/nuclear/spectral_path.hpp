// One step after another of the interior-point method of spectral_margin.hpp.
#pragma once

#include "attractor/solve/nuclear/nuclear_rows.hpp"

namespace attractor::solve::nuclear {

class SpectralPath {
 public:
  /// W: where it starts; of size about one, and best strictly feasible.
  SpectralPath(RankOneRows<Exact> rows, const Matrix<Exact>& W);

  const Matrix<Exact>& W() const { return W_; }
  const Vector<Exact>& lambda() const { return lambda_; }
  // False: rounding stopped it.
  bool advance();

 private:
  struct Step {
    Matrix<Exact> W, Y;
    Exact t = 0;
    Vector<Exact> slack, lambda;
  };
  // [t I  W; W^T  t I]
  Matrix<Exact> pair(Exact t, const Matrix<Exact>& W) const;
  // Of W, column by column, and t at last.
  Matrix<Exact> newton_matrix(const Matrix<Exact>& inverse) const;
  // aim: what Y is to become if P stays; slack_aim: what the products slack lambda change by.
  Step direction(const Matrix<Exact>& newton, const Matrix<Exact>& inverse,
                 const Matrix<Exact>& aim, const Vector<Exact>& slack_aim) const;

  RankOneRows<Exact> rows_;
  Rows<Exact> flat_;  // the rows as vectors, column by column
  Matrix<Exact> W_, Y_;
  Exact t_ = 0;
  Vector<Exact> slack_, lambda_;
};

}  // namespace attractor::solve::nuclear
