// Definitions for nuclear_rows.hpp and nuclear_path.hpp. A file that includes it gives
//   Vector<Real> eigenvalues_of(const Matrix<Real>&), ascending, of the lower triangle.
#pragma once

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "attractor/base/threads.hpp"
#include "attractor/solve/nuclear/nuclear_path.hpp"

namespace attractor::solve::nuclear {

constexpr Index kBlock = 64;        // rows of the Newton matrix a thread takes together
constexpr double kPivot = 64;       // roundings of the diagonal
constexpr double kSpanned = 1e150;  // infinite, for what is divided by it
constexpr double kSettled = 0.1;    // change of a slack, relative

template <class Real>
Matrix<Real> RankOneRows<Real>::combine(const Vector<Real>& lambda) const {
  Rows<Real> sums = Rows<Real>::Zero(right.rows(), left.cols());
  for (Index j = 0; j < size(); ++j) sums.row(query_of(j)) += lambda[j] * left.row(j);
  return sums.transpose() * right;
}

template <class Real>
Vector<Real> RankOneRows<Real>::products(const Matrix<Real>& W) const {
  const Rows<Real> images = right * W.transpose();
  Vector<Real> out(size());
  for (Index j = 0; j < size(); ++j) out[j] = left.row(j).dot(images.row(query_of(j)));
  return out;
}

// A = L L^T in place, lower triangle. A pivot that is rounding belongs to a row that others span,
// a second copy for example: the solution gets a zero there.
template <class Real, class Block, class Diagonal>
void factor_corner(Block&& A, const Diagonal& diagonal) {
  for (Index j = 0; j < A.rows(); ++j) {
    const Index rest = A.rows() - j - 1;
    const bool spanned = !(A(j, j) > kPivot * std::numeric_limits<Real>::epsilon() * diagonal[j]);
    A(j, j) = spanned ? Real(kSpanned) : std::sqrt(A(j, j));
    A.col(j).tail(rest) /= A(j, j);
    for (Index k = j + 1; k < A.rows(); ++k)
      A.col(k).tail(A.rows() - k) -= A(k, j) * A.col(j).tail(A.rows() - k);
  }
}

template <class Real>
void cholesky(Matrix<Real>& A) {
  const Vector<Real> diagonal = A.diagonal();
  for (Index at = 0; at < A.rows(); at += kBlock) {
    const Index width = std::min(kBlock, A.rows() - at), next = at + width;
    const auto rest = static_cast<std::size_t>(A.rows() - next);
    auto corner = A.block(at, at, width, width);
    factor_corner<Real>(corner, diagonal.segment(at, width));
    parallel_for(rest, kBlock, [&](std::size_t begin, std::size_t end) {
      auto panel =
          A.block(next + static_cast<Index>(begin), at, static_cast<Index>(end - begin), width);
      corner.template triangularView<Eigen::Lower>()
          .transpose()
          .template solveInPlace<Eigen::OnTheRight>(panel);
    });
    parallel_for(rest, kBlock, [&](std::size_t begin, std::size_t end) {
      const auto first = next + static_cast<Index>(begin), last = next + static_cast<Index>(end);
      A.block(first, next, last - first, last - next).noalias() -=
          A.block(first, at, last - first, width) *
          A.block(next, at, last - next, width).transpose();
    });
  }
}

template <class Real>
Matrix<Real> symmetric(const Matrix<Real>& A) {
  return (A + A.transpose()) / 2;
}

// The t up to which x + t d, or X + t D = L L^T + t D, stays positive.
template <class Real>
Real longest_step(const Vector<Real>& x, const Vector<Real>& d) {
  const Real steepest = (d.array() / x.array()).minCoeff();
  return steepest < 0 ? -1 / steepest : std::numeric_limits<Real>::infinity();
}
template <class Real>
Real longest_step(const Eigen::LLT<Matrix<Real>>& X, const Matrix<Real>& D) {
  Matrix<Real> scaled = X.matrixL().solve(D);
  scaled = symmetric<Real>(X.matrixL().solve(scaled.transpose()));
  const Real steepest = eigenvalues_of(scaled)[0];
  return steepest < 0 ? -1 / steepest : std::numeric_limits<Real>::infinity();
}

template <class Real>
Matrix<Real> InteriorPoint<Real>::off_diagonal(const Vector<Real>& lambda, Real scale) const {
  const Matrix<Real> S = rows_.combine(lambda);
  Matrix<Real> out = Matrix<Real>::Zero(S.rows() + S.cols(), S.rows() + S.cols());
  out.topRightCorner(S.rows(), S.cols()) = scale * S;
  out.bottomLeftCorner(S.cols(), S.rows()) = scale * S.transpose();
  return out;
}

// <A_j, X A_k Z^-1> symmetrised, plus slack / lambda on the diagonal; lower triangle, open rows.
template <class Real>
Matrix<Real> InteriorPoint<Real>::newton_matrix(const Matrix<Real>& inverse) const {
  const Rows<Real> left = rows_.left(open_, Eigen::all);
  const Rows<Real>& right = rows_.right;
  const Index count = left.rows(), a = left.cols(), b = right.cols();
  const auto blocks = [&](const Matrix<Real>& M) {
    return std::tuple<Rows<Real>, Matrix<Real>, Matrix<Real>>(
        left * M.topLeftCorner(a, a), left * (M.topRightCorner(a, b) * right.transpose()),
        right * (M.bottomRightCorner(b, b) * right.transpose()));
  };
  const auto of_x = blocks(at_.X), of_z = blocks(inverse);
  std::vector<Index> query;
  for (const Index j : open_) query.push_back(rows_.query_of(j));
  Matrix<Real> out(count, count);
  const auto fill = [&](std::size_t begin, std::size_t end) {
    const auto& [left_x, mixed_x, right_x] = of_x;
    const auto& [left_z, mixed_z, right_z] = of_z;
    const auto first = static_cast<Index>(begin), last = static_cast<Index>(end);
    const auto others = left.topRows(last).transpose();
    const Matrix<Real> gram_x = left_x.middleRows(first, last - first) * others,
                       gram_z = left_z.middleRows(first, last - first) * others;
    for (Index k = 0; k < last; ++k)
      for (Index j = std::max(first, k); j < last; ++j) {
        const Index p = query[static_cast<std::size_t>(j)], q = query[static_cast<std::size_t>(k)];
        out(j, k) = (gram_x(j - first, k) * right_z(p, q) + gram_z(j - first, k) * right_x(p, q) +
                     mixed_x(j, q) * mixed_z(k, p) + mixed_x(k, p) * mixed_z(j, q)) /
                    4;
      }
  };
  parallel_for(open_.size(), kBlock, fill);
  out.diagonal() += at_.slack(open_).cwiseQuotient(at_.lambda(open_));
  return out;
}

template <class Real>
typename InteriorPoint<Real>::Step InteriorPoint<Real>::direction(
    const Matrix<Real>& factor, const Matrix<Real>& inverse, const Matrix<Real>& aim, Real target,
    const Vector<Real>& slack_correction) const {
  const auto response = [&](const Vector<Real>& lambda) -> Matrix<Real> {
    return aim - symmetric<Real>(at_.X * off_diagonal(lambda, Real(-0.5)) * inverse);
  };
  Step step;
  step.lambda = target * at_.slack.cwiseInverse() - at_.lambda;
  step.lambda(open_).setZero();
  const Vector<Real> missing =
      rows_.bounds - corner_products(response(step.lambda)) +
      (target - slack_correction.array()).matrix().cwiseQuotient(at_.lambda);
  Vector<Real> solution = missing(open_);
  const auto L = factor.template triangularView<Eigen::Lower>();
  L.solveInPlace(solution);
  L.transpose().solveInPlace(solution);
  step.lambda(open_) = solution;
  step.Z = off_diagonal(step.lambda, Real(-0.5));
  step.X = response(step.lambda) - at_.X;
  step.slack = corner_products(at_.X + step.X) - rows_.bounds - at_.slack;
  return step;
}

template <class Real>
bool InteriorPoint<Real>::advance() {
  Matrix<Real> Z = off_diagonal(at_.lambda, Real(-0.5));
  Z.diagonal().setConstant(Real(0.5));
  const Index size = Z.rows();
  const Eigen::LLT<Matrix<Real>> root_z(Z), root_x(at_.X);
  if (root_z.info() != Eigen::Success || root_x.info() != Eigen::Success) return false;
  const Matrix<Real> inverse = root_z.solve(Matrix<Real>::Identity(size, size));
  Matrix<Real> factor = newton_matrix(inverse);
  cholesky(factor);

  const auto parameter = [&](Real t, Real u, const Step& step) {
    const Matrix<Real> x = at_.X + t * step.X, z = Z + u * step.Z;
    const Vector<Real> s = at_.slack + t * step.slack, l = at_.lambda + u * step.lambda;
    return (x.cwiseProduct(z).sum() + s.dot(l)) / static_cast<Real>(size + s.size());
  };
  const auto lengths = [&](const Step& step, Real part) {
    const Real t = std::min(longest_step(at_.slack, step.slack), longest_step(root_x, step.X)),
               u = std::min(longest_step(at_.lambda, step.lambda), longest_step(root_z, step.Z));
    return std::pair(std::min(Real(1), part * t), std::min(Real(1), part * u));
  };
  const Step affine = direction(factor, inverse, Matrix<Real>::Zero(size, size), 0,
                                Vector<Real>::Zero(at_.slack.size()));
  const auto [ta, ua] = lengths(affine, 1);
  const Real now = parameter(0, 0, affine), ratio = parameter(ta, ua, affine) / now;
  const Real centring = residual_ > Real(0.1) ? Real(0.3) : (1 - std::min(ta, ua)) / 2;
  const Real target = now * std::max(centring, ratio * ratio * ratio);
  const Step step =
      direction(factor, inverse, target * inverse - symmetric<Real>(affine.X * affine.Z * inverse),
                target, affine.slack.cwiseProduct(affine.lambda));
  const auto [t, u] = lengths(step, Real(0.9) + Real(0.09) * std::min(ta, ua));
  if (!(t > 0 && u > 0) || !step.lambda.allFinite()) return false;
  open_.clear();
  for (Index j = 0; j < at_.slack.size(); ++j)
    if (!(std::abs(affine.slack[j]) <= kSettled * at_.slack[j])) open_.push_back(j);
  residual_ *= 1 - t;
  at_.X += t * step.X;
  at_.slack += t * step.slack;
  at_.lambda += u * step.lambda;
  return true;
}

template <class Real>
Vector<Real> singular_values(const Matrix<Real>& A) {
  const Index size = A.rows() + A.cols();
  Matrix<Real> both = Matrix<Real>::Zero(size, size);
  both.bottomLeftCorner(A.cols(), A.rows()) = A.transpose();
  const Vector<Real> values = eigenvalues_of(both);
  return values.tail(std::min(A.rows(), A.cols())).reverse().cwiseMax(Real(0));
}

}  // namespace attractor::solve::nuclear
