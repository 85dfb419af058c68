#include "attractor/solve/nuclear/spectral_path.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <utility>

#include "attractor/base/dense.hpp"

namespace attractor::solve::nuclear {
namespace {

using Square = Matrix<Exact>;
using Column = Vector<Exact>;

Square symmetrised(const Square& A) { return (A + A.transpose()) / 2; }

// The longest step up to 1 that keeps x positive.
Exact vector_room(const Column& x, const Column& step) {
  Exact most = 1;
  for (Index k = 0; k < x.size(); ++k)
    if (step[k] < 0) most = std::min(most, -x[k] / step[k]);
  return most;
}

// The same for a positive definite matrix: by the least eigenvalue of L^-1 step L^-T.
Exact matrix_room(const Square& X, const Square& step) {
  const Eigen::LLT<Square> factor(X);
  if (factor.info() != Eigen::Success) return 0;
  Square inside = factor.matrixL().solve(step);
  inside = factor.matrixL().solve(inside.transpose().eval());
  const Exact least = extended_eigen(symmetrised(inside), Vectors::none).values[0];
  return least < 0 ? std::min(Exact(1), -1 / least) : Exact(1);
}

}  // namespace

SpectralPath::SpectralPath(RankOneRows<Exact> rows, const Square& W)
    : rows_(std::move(rows)), W_(W) {
  const Index a = W.rows(), b = W.cols(), m = rows_.size();
  flat_.resize(m, a * b);
  for (Index j = 0; j < m; ++j) {
    const Square row = rows_.left.row(j).transpose() * rows_.right.row(rows_.query_of(j));
    flat_.row(j) = Eigen::Map<const Column>(row.data(), a * b).transpose();
  }
  const Exact size = W.norm();
  t_ = 2 * size;
  Y_ = Square::Identity(a + b, a + b) / static_cast<Exact>(a + b);
  slack_ = (rows_.products(W) - rows_.bounds).cwiseMax(size / 10);
  lambda_ = (t_ / static_cast<Exact>(a + b)) * slack_.cwiseInverse();
}

Square SpectralPath::pair(Exact t, const Square& W) const {
  const Index a = W.rows(), b = W.cols();
  Square P = t * Square::Identity(a + b, a + b);
  P.topRightCorner(a, b) = W;
  P.bottomLeftCorner(b, a) = W.transpose();
  return P;
}

// tr(F_i P^-1 F_j Y) for F = e_k e_l^T + e_l e_k^T and F = I, made symmetric in P^-1 and Y, and
// sum_j lambda_j / slack_j g_j g_j^T.
Square SpectralPath::newton_matrix(const Square& Q) const {
  const Index a = W_.rows(), b = W_.cols(), size = a * b;
  Square H = Square::Zero(size + 1, size + 1);
  const auto half = [&](const Square& A, const Square& B, Index k, Index l, Index i, Index j) {
    return A(l, i) * B(j, k) + A(l, j) * B(i, k) + A(k, i) * B(j, l) + A(k, j) * B(i, l);
  };
  for (Index l = 0; l < b; ++l)
    for (Index k = 0; k < a; ++k)
      for (Index j = 0; j < b; ++j)
        for (Index i = 0; i < a; ++i)
          H(k + a * l, i + a * j) =
              (half(Q, Y_, k, a + l, i, a + j) + half(Y_, Q, k, a + l, i, a + j)) / 2;
  const Column weights = lambda_.cwiseQuotient(slack_);
  H.topLeftCorner(size, size) += flat_.transpose() * weights.asDiagonal() * flat_;
  const Square product = symmetrised(Q * Y_), corner = 2 * product.topRightCorner(a, b);
  H.col(size).head(size) = Eigen::Map<const Column>(corner.data(), size);
  H.row(size).head(size) = H.col(size).head(size).transpose();
  H(size, size) = product.trace();
  return H;
}

SpectralPath::Step SpectralPath::direction(const Square& newton, const Square& Q, const Square& aim,
                                           const Column& slack_aim) const {
  const Index a = W_.rows(), b = W_.cols(), size = a * b;
  const Column D = lambda_.cwiseQuotient(slack_),
               missing = slack_ + rows_.bounds - rows_.products(W_),
               lambda = slack_aim.cwiseQuotient(slack_) + D.cwiseProduct(missing);
  // 2 Y_12 + S = 0 and tr Y = 1 after the step
  const Square corner = 2 * (aim.topRightCorner(a, b)) + rows_.combine(lambda_ + lambda);
  Column right(size + 1);
  right.head(size) = Eigen::Map<const Column>(corner.data(), size);
  right[size] = aim.trace() - 1;
  const Eigen::LLT<Square> factor(newton);
  Column x = factor.solve(right);
  for (int round = 0; round < 2; ++round) x += factor.solve(right - newton * x);
  Step step;
  step.W = Eigen::Map<const Square>(x.data(), a, b);
  step.t = x[size];
  const Square P = pair(step.t, step.W);
  step.Y = aim - Y_ - symmetrised(Q * P * Y_);
  const Column products = rows_.products(step.W);
  step.slack = products - missing;
  step.lambda = lambda - D.cwiseProduct(products);
  return step;
}

bool SpectralPath::advance() {
  const Index n = Y_.rows(), m = slack_.size();
  const Square P = pair(t_, W_);
  const Eigen::LLT<Square> factor(P);
  if (factor.info() != Eigen::Success) return false;
  const Square Q = symmetrised(factor.solve(Square::Identity(n, n))), newton = newton_matrix(Q);
  const Column products = slack_.cwiseProduct(lambda_);
  const Step affine = direction(newton, Q, Square::Zero(n, n), -products);
  const auto rooms = [&](const Step& step) {
    return std::pair{
        std::min(matrix_room(P, pair(step.t, step.W)), vector_room(slack_, step.slack)),
        std::min(matrix_room(Y_, step.Y), vector_room(lambda_, step.lambda))};
  };
  if (!affine.W.allFinite() || !affine.lambda.allFinite()) return false;
  const auto [ta, ua] = rooms(affine);
  const Exact count = static_cast<Exact>(n + m);
  const Exact mu = (P.cwiseProduct(Y_).sum() + products.sum()) / count;
  const Square moved = pair(affine.t, affine.W);
  const Exact reached = ((P + ta * moved).cwiseProduct(Y_ + ua * affine.Y).sum() +
                         (slack_ + ta * affine.slack).dot(lambda_ + ua * affine.lambda)) /
                        count;
  const Exact target = mu * std::pow(std::max(Exact(0), reached / mu), Exact(3));
  const Square aim = target * Q - symmetrised(Q * moved * affine.Y);
  const Column slack_aim =
      Column::Constant(m, target) - products - affine.slack.cwiseProduct(affine.lambda);
  const Step step = direction(newton, Q, aim, slack_aim);
  if (!step.W.allFinite() || !step.lambda.allFinite()) return false;
  const auto [tp, td] = rooms(step);
  constexpr Exact kInside = 0.98L;  // of the way to the boundary
  const Exact primal = std::min(Exact(1), kInside * tp), dual = std::min(Exact(1), kInside * td);
  W_ += primal * step.W;
  t_ += primal * step.t;
  slack_ += primal * step.slack;
  Y_ = symmetrised(Y_ + dual * step.Y);
  lambda_ += dual * step.lambda;
  return primal > 0 && dual > 0;
}

}  // namespace attractor::solve::nuclear
