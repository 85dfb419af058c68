// The interior-point method of polyhedral_margin.hpp, one step after another.
#pragma once

#include <Eigen/Core>

#include "attractor/solve/norms/polyhedral_norm.hpp"

namespace attractor::solve::polyhedral {

using Real = long double;
using Vector = Eigen::Matrix<Real, Eigen::Dynamic, 1>;
using Rows = Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

struct Program {
  Rows G;    // m x d
  Vector h;  // m
  PolyhedralNorm norm = PolyhedralNorm::largest;
  bool single() const { return norm == PolyhedralNorm::largest; }  // one t for all entries
};

/// An iterate, or a step: w and t are free, all others positive.
struct Iterate {
  Vector w, t;     // t: 1 or d numbers
  Vector s, p, n;  // slacks
  Vector lambda, u, v;
};

class Path {
 public:
  /// A view of the program; w is where it starts, of size about 1.
  Path(const Program& program, const Vector& w);

  const Iterate& at() const { return at_; }
  /// False: rounding stopped it.
  bool advance();

 private:
  struct Residuals {
    Vector s, p, n;  // s + h - G w, ...
    Vector w;        // u - v - G^T lambda
    Vector t;        // 1 - sum (u + v)
  };
  struct Aim {
    Vector s, p, n;  // what the products s lambda, p u, n v are to change by
  };
  Residuals residuals() const;
  Vector over_entries(const Vector& t) const;  // t_a for every a
  Iterate direction(const Residuals& r, const Aim& aim) const;
  // The system of w alone, (G^T D G + diag(delta)) x = b; in the smaller of both dimensions.
  Rows solve(const Vector& D, const Vector& delta, const Rows& b) const;
  Real complementarity() const;

  const Program& program_;
  Iterate at_;
};

}  // namespace attractor::solve::polyhedral
