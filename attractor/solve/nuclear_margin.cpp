#include "attractor/solve/nuclear_margin.hpp"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

#include "attractor/base/error.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/solve/enclosed_sum.hpp"
#include "attractor/solve/hard_margin.hpp"
#include "attractor/solve/margin_proof.hpp"

namespace attractor::solve {
namespace {

using Index = Eigen::Index;
template <class Real>
using Matrix = Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic>;
template <class Real>
using Vector = Eigen::Matrix<Real, Eigen::Dynamic, 1>;
template <class Real>
using Rows = Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Index kBlock = 64;        // rows of the Newton matrix a thread takes together
constexpr double kPivot = 64;       // roundings of the diagonal
constexpr double kSpanned = 1e150;  // infinite, for what is divided by it
constexpr int kPatience = 6;        // iterations without progress
constexpr double kSafety = 0.9;     // of the tolerance, for the rounding of W
constexpr double kSwift = 0.3, kProgress = 0.99;  // a gap that is smaller by this factor
constexpr double kSettled = 0.1;                  // change of a slack, relative
constexpr double kRank = 1e-7;                    // of the largest singular value
constexpr double kFar = 1e8;  // a lower bound beyond hope, with unit rows and bounds

using Exact = long double;
constexpr Exact kRoundoff = std::numeric_limits<Exact>::epsilon();

// A_j = g_j z_q(j)^T and h_j.
template <class Real>
struct RankOneRows {
  Rows<Real> left, right;  // g: m x a, z: n x b
  std::vector<Index> query;
  Vector<Real> bounds;

  Index size() const { return left.rows(); }
  Index query_of(Index j) const { return query[static_cast<std::size_t>(j)]; }
  // sum_j lambda_j A_j
  Matrix<Real> combine(const Vector<Real>& lambda) const {
    Rows<Real> sums = Rows<Real>::Zero(right.rows(), left.cols());
    for (Index j = 0; j < size(); ++j) sums.row(query_of(j)) += lambda[j] * left.row(j);
    return sums.transpose() * right;
  }
  // <A_j, W> for all j
  Vector<Real> products(const Matrix<Real>& W) const {
    const Rows<Real> images = right * W.transpose();
    Vector<Real> out(size());
    for (Index j = 0; j < size(); ++j) out[j] = left.row(j).dot(images.row(query_of(j)));
    return out;
  }
  template <class Other>
  RankOneRows<Other> as() const {
    return {left.template cast<Other>(), right.template cast<Other>(), query,
            bounds.template cast<Other>()};
  }
};

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
  const Eigen::SelfAdjointEigenSolver<Matrix<Real>> eigen(scaled, Eigen::EigenvaluesOnly);
  const Real steepest = eigen.eigenvalues()[0];
  return steepest < 0 ? -1 / steepest : std::numeric_limits<Real>::infinity();
}

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
  const auto [left_x, mixed_x, right_x] = blocks(at_.X);
  const auto [left_z, mixed_z, right_z] = blocks(inverse);
  std::vector<Index> query;
  for (const Index j : open_) query.push_back(rows_.query_of(j));
  Matrix<Real> out(count, count);
  const auto fill = [&](std::size_t begin, std::size_t end) {
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

// Of [0 A; A^T 0] they are the largest eigenvalues, as exact as its norm allows; descending.
template <class Real>
Vector<Real> singular_values(const Matrix<Real>& A) {
  const Index size = A.rows() + A.cols();
  Matrix<Real> both = Matrix<Real>::Zero(size, size);
  both.bottomLeftCorner(A.cols(), A.rows()) = A.transpose();
  const Eigen::SelfAdjointEigenSolver<Matrix<Real>> eigen(both, Eigen::EigenvaluesOnly);
  return eigen.eigenvalues().tail(std::min(A.rows(), A.cols())).reverse().cwiseMax(Real(0));
}

// The smallest t for which t W is feasible; infinite if there is none.
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

double relative_gap(double upper, double lower) {
  if (upper == 0) return 0;
  return upper < kInfinity ? (upper - lower) / upper : 1.0;
}

// The best point of each problem so far.
class Record {
 public:
  explicit Record(const RankOneRows<double>& rows)
      : W(Matrix<double>::Zero(rows.left.cols(), rows.right.cols())),
        lambda(Vector<double>::Zero(rows.size())),
        rows_(rows.as<Exact>()) {}
  void offer_primal(const Matrix<double>& candidate);
  void offer_dual(const Vector<double>& candidate);
  double gap() const { return relative_gap(upper, lower); }

  Matrix<double> W;
  Vector<double> lambda;
  double upper = kInfinity, lower = 0;

 private:
  RankOneRows<Exact> rows_;
};

void Record::offer_primal(const Matrix<double>& candidate) {
  const auto scale = static_cast<double>(feasible_scale(rows_, candidate.cast<Exact>()));
  if (scale == kInfinity) return;
  const double norm = scale * singular_values(candidate).sum();
  if (norm < upper) upper = norm, W = scale * candidate;
}

void Record::offer_dual(const Vector<double>& candidate) {
  const Vector<Exact> values = candidate.cast<Exact>();
  const double size = singular_values<double>(rows_.combine(values).cast<double>())[0];
  const auto sum = static_cast<double>(values.dot(rows_.bounds));
  if (sum > lower * size) lower = sum / size, lambda = candidate / size;
}

enum class Outcome { reached, stalled, iteration_limit, infeasible };

// Leaves the last point before rounding slowed it down.
template <class Real>
Outcome follow(const RankOneRows<double>& rows, Point<double>& point, Record& record,
               const NuclearMarginOptions& options, std::size_t& iterations) {
  InteriorPoint<Real> path(rows.as<Real>(), point.as<Real>());
  double smallest = kInfinity, kept = kInfinity;
  int idle = 0;
  while (true) {
    const Point<double> at = path.point().template as<double>();
    record.offer_primal(at.X.topRightCorner(record.W.rows(), record.W.cols()));
    record.offer_dual(at.lambda);
    const double gap = record.gap();
    if (gap <= kSafety * options.tolerance) return Outcome::reached;
    if (record.upper == kInfinity && record.lower > kFar) return Outcome::stalled;
    if (gap <= kSwift * kept) kept = gap, point = at;
    if (gap == 1 || gap <= kProgress * smallest)  // 1: a bound is still missing
      idle = 0, smallest = gap;
    else if (++idle == kPatience)
      return Outcome::stalled;
    if (iterations == options.max_iterations) return Outcome::iteration_limit;
    ++iterations;
    if (!path.advance()) return Outcome::stalled;
  }
}

// X, Z and all products slack lambda are multiples of the identity; W = 0.
Point<double> first_point(const RankOneRows<double>& rows) {
  const Index size = rows.left.cols() + rows.right.cols();
  const Matrix<double> sum = rows.combine(Vector<double>::Ones(rows.size()));
  const double lambda = 0.5 / std::max(1.0, singular_values(sum)[0]);
  return {.X = 2 * Matrix<double>::Identity(size, size),
          .slack = Vector<double>::Constant(rows.size(), 1 / lambda),
          .lambda = Vector<double>::Constant(rows.size(), lambda)};
}

// The rows as vectors, for the Frobenius norm.
class Vectorised : public Constraints {
 public:
  Vectorised(const RankOneRows<double>& rows, const Rows<double>& left_tail)
      : rows_(rows), left_tail_(left_tail) {}
  std::size_t size() const override { return static_cast<std::size_t>(rows_.size()); }
  std::size_t dim() const override {
    return static_cast<std::size_t>(rows_.left.cols() * rows_.right.cols());
  }
  void products(std::span<const double> p, std::span<double> out) const override {
    const Eigen::Map<const Rows<double>> W(p.data(), rows_.left.cols(), rows_.right.cols());
    Eigen::Map<Vector<double>>(out.data(), rows_.size()) = rows_.products(W);
  }
  void row(std::size_t j, std::span<double> out) const override {
    const auto at = static_cast<Index>(j);
    Eigen::Map<Rows<double>>(out.data(), rows_.left.cols(), rows_.right.cols()) =
        rows_.left.row(at).transpose() * rows_.right.row(rows_.query_of(at));
  }
  double tail(std::size_t j, std::span<double> out) const override {
    const auto at = static_cast<Index>(j), a = rows_.left.cols(), b = rows_.right.cols();
    const auto view = [at](const Rows<double>& rows, Index k) {
      return std::span(rows.data() + at * k, static_cast<std::size_t>(k));
    };
    return outer_tail(
        view(rows_.left, a), view(left_tail_, a),
        std::span(rows_.right.data() + rows_.query_of(at) * b, static_cast<std::size_t>(b)), out);
  }
  double bound(std::size_t j) const override { return rows_.bounds[static_cast<Index>(j)]; }
  std::size_t groups() const override { return static_cast<std::size_t>(rows_.right.rows()); }
  std::size_t group(std::size_t j) const override {
    return static_cast<std::size_t>(rows_.query[j]);
  }

 private:
  const RankOneRows<double>& rows_;
  const Rows<double>& left_tail_;
};

// The user's rows; those of them that are not zero, with unit g and z in the coordinates of their
// spans and bounds of at most 1; and the way back.
class Problem {
 public:
  explicit Problem(const RankOneConstraints& constraints);

  const RankOneRows<double>& rows() const { return rows_; }
  const Rows<double>& left_tail() const { return left_tail_; }
  const RankOneRows<double>& unit_rows() const { return unit_rows_; }
  bool asks_nothing() const { return rows_.size() == 0 || rows_.bounds.maxCoeff() <= 0; }
  // A row 0 >= h > 0.
  bool is_contradictory() const { return (sizes_.array() == 0 && rows_.bounds.array() > 0).any(); }
  Matrix<double> reduced(const Matrix<double>& W) const {
    return left_span_.transpose() * W * right_span_;
  }
  // The result W = 0.
  NuclearMargin zero() const;
  // Writes W, lambda and all that follows from them.
  void report(const Record& record, NuclearMargin& found) const;
  void report_farkas(std::span<const Multiplier> farkas, NuclearMargin& found) const;

 private:
  void normalise();
  // The rows with their tails.
  RankOneRows<Exact> whole_rows() const;
  struct Spectrum {
    Vector<Exact> values;      // descending, about
    Exact sum = 0, first = 0;  // of the singular values, and the largest: proved from above
  };
  Spectrum spectrum(const Matrix<Exact>& M) const;

  RankOneRows<double> rows_, unit_rows_;
  Rows<double> left_tail_;  // as rows_.left
  std::vector<Index> kept_;
  Vector<Exact> sizes_;  // |g_j| |z_q(j)|
  Exact unit_ = 0;       // the largest bound over its size
  Matrix<double> left_span_, right_span_;
};

void require_finite(std::span<const double> values, const char* name) {
  for (std::size_t k = 0; k < values.size(); ++k)
    if (!std::isfinite(values[k]))
      throw Error(fmt::format("entry {} of {} is {}; it must be finite", k, name, values[k]));
}

void check(const RankOneConstraints& c) {
  if (c.left_dim == 0 || c.right_dim == 0)
    throw Error(fmt::format("a {} x {} matrix has no entries; both dimensions must be at least 1",
                            c.left_dim, c.right_dim));
  const std::size_t rows = c.left.size() / c.left_dim, queries = c.right.size() / c.right_dim;
  if (c.left.size() != rows * c.left_dim || c.right.size() != queries * c.right_dim)
    throw Error(fmt::format("{} left and {} right entries are not whole rows of {} and {}",
                            c.left.size(), c.right.size(), c.left_dim, c.right_dim));
  if (c.query.size() != rows && !(c.query.empty() && queries == rows))
    throw Error(
        fmt::format("{} left rows need {} query numbers, or none and as many right rows; "
                    "there are {} and {}",
                    rows, rows, c.query.size(), queries));
  for (const std::size_t q : c.query)
    if (q >= queries) throw Error(fmt::format("query {} of {} does not exist", q, queries));
  if (c.left_tail.size() != c.left.size() && !c.left_tail.empty())
    throw Error(fmt::format("{} tails for {} left entries", c.left_tail.size(), c.left.size()));
  if (c.bounds.size() != rows && !c.bounds.empty())
    throw Error(fmt::format("{} bounds for {} left rows", c.bounds.size(), rows));
  require_finite(c.left, "left");
  require_finite(c.left_tail, "left_tail");
  require_finite(c.right, "right");
  require_finite(c.bounds, "bounds");
}

// An orthonormal basis, one vector a column; all coordinates if the rows may fill them.
Matrix<double> span_of(const Rows<double>& rows) {
  const Index count = std::min(rows.rows(), rows.cols());
  if (count == rows.cols()) return Matrix<double>::Identity(count, count);
  const Eigen::HouseholderQR<Matrix<double>> factor(rows.transpose());
  return factor.householderQ() * Matrix<double>::Identity(rows.cols(), count);
}

Problem::Problem(const RankOneConstraints& constraints) {
  check(constraints);
  const auto [left, right, left_dim, right_dim, query, bounds, left_tail] = constraints;
  const auto a = static_cast<Index>(left_dim), b = static_cast<Index>(right_dim);
  rows_.left = Eigen::Map<const Rows<double>>(left.data(), static_cast<Index>(left.size()) / a, a);
  rows_.right =
      Eigen::Map<const Rows<double>>(right.data(), static_cast<Index>(right.size()) / b, b);
  left_tail_ = Rows<double>::Zero(rows_.left.rows(), a);
  if (!left_tail.empty())
    left_tail_ = Eigen::Map<const Rows<double>>(left_tail.data(), rows_.left.rows(), a);
  rows_.query.assign(query.begin(), query.end());
  if (query.empty()) {
    rows_.query.resize(static_cast<std::size_t>(rows_.size()));
    std::iota(rows_.query.begin(), rows_.query.end(), Index{0});
  }
  rows_.bounds = Vector<double>::Ones(rows_.size());
  if (!bounds.empty()) rows_.bounds = Eigen::Map<const Vector<double>>(bounds.data(), rows_.size());
  normalise();
}

void Problem::normalise() {
  const auto unit = [](const auto& row) { return (row / row.stableNorm()).eval(); };
  sizes_.resize(rows_.size());
  for (Index j = 0; j < rows_.size(); ++j) {
    sizes_[j] = static_cast<Exact>(rows_.left.row(j).stableNorm()) *
                rows_.right.row(rows_.query_of(j)).stableNorm();
    if (sizes_[j] == 0) continue;
    kept_.push_back(j);
    unit_ = std::max(unit_, rows_.bounds[j] / sizes_[j]);
  }
  if (asks_nothing() || is_contradictory()) return;
  const auto count = static_cast<Index>(kept_.size());
  Rows<double> left(count, rows_.left.cols()), right = rows_.right;
  unit_rows_.bounds.resize(count);
  for (Index i = 0; i < right.rows(); ++i)
    if (!right.row(i).isZero(0)) right.row(i) = unit(right.row(i));
  for (Index k = 0; k < count; ++k) {
    const Index j = kept_[static_cast<std::size_t>(k)];
    left.row(k) = unit(rows_.left.row(j));
    unit_rows_.query.push_back(rows_.query_of(j));
    unit_rows_.bounds[k] = static_cast<double>(rows_.bounds[j] / sizes_[j] / unit_);
  }
  left_span_ = span_of(left);
  right_span_ = span_of(right);
  unit_rows_.left = left * left_span_;
  unit_rows_.right = right * right_span_;
}

RankOneRows<Exact> Problem::whole_rows() const {
  RankOneRows<Exact> rows = rows_.as<Exact>();
  rows.left += left_tail_.cast<Exact>();
  return rows;
}

// With any factors, M = sum_i s_i u_i v_i^T + E has
//   |M|_* <= sum_i s_i |u_i| |v_i| + sqrt(rank) |E|_F   and
//   |M|_op <= |U S^(1/2)|_op |V S^(1/2)|_op + |E|_F;
// they come from the eigenvectors (u, v) / sqrt 2 of [0 A; A^T 0], A = M inside the spans. (Where
// s_i vanishes u_i and v_i are of any length, hence the roots.) All that is left to rounding is the
// evaluation of these lines, which is bounded.
Problem::Spectrum Problem::spectrum(const Matrix<Exact>& M) const {
  const Matrix<Exact> left = left_span_.cast<Exact>(), right = right_span_.cast<Exact>();
  const Matrix<Exact> inside = left.transpose() * M * right;
  const Index a = inside.rows(), b = inside.cols(), rank = std::min(a, b);
  Matrix<Exact> both = Matrix<Exact>::Zero(a + b, a + b);
  both.bottomLeftCorner(b, a) = inside.transpose();
  const Eigen::SelfAdjointEigenSolver<Matrix<Exact>> eigen(both);
  const Matrix<Exact> vectors = std::sqrt(Exact(2)) * eigen.eigenvectors().rightCols(rank);
  const Matrix<Exact> U = left * vectors.topRows(a), V = right * vectors.bottomRows(b);
  Spectrum found{.values = eigen.eigenvalues().tail(rank).cwiseMax(Exact(0))};
  const Vector<Exact> products = found.values.cwiseProduct(U.colwise().norm().transpose())
                                     .cwiseProduct(V.colwise().norm().transpose());
  const auto roundings = static_cast<Exact>(M.rows() + M.cols() + 16) * kRoundoff;
  const Exact rest = (M - U * found.values.asDiagonal() * V.transpose()).norm() +
                     roundings * (M.norm() + products.sum());
  const Vector<Exact> roots = found.values.cwiseSqrt();
  const auto above =
      [&](const Matrix<Exact>& Q) {  // |A|_op^2 is at most the largest row sum of A^T A
        const Matrix<Exact> scaled = Q * roots.asDiagonal();
        return std::sqrt((scaled.transpose() * scaled).cwiseAbs().rowwise().sum().maxCoeff());
      };
  const auto least = static_cast<Exact>(std::min(M.rows(), M.cols()));
  found.sum = (products.sum() + std::sqrt(least) * rest) * (1 + roundings);
  found.first = (above(U) * above(V) + rest) * (1 + 2 * roundings);
  found.values.reverseInPlace();
  return found;
}

NuclearMargin Problem::zero() const {
  const auto a = static_cast<std::size_t>(rows_.left.cols()),
             b = static_cast<std::size_t>(rows_.right.cols());
  return {.W = std::vector<double>(a * b, 0.0),
          .relative_gap = 0,
          .multipliers = std::vector<double>(rows_.query.size(), 0.0),
          .singular_values = std::vector<double>(std::min(a, b), 0.0)};
}

void Problem::report(const Record& record, NuclearMargin& found) const {
  Matrix<Exact> W = unit_ * (left_span_.cast<Exact>() * record.W.cast<Exact>() *
                             right_span_.transpose().cast<Exact>());
  if (const Exact scale = feasible_scale(whole_rows(), W); scale < kInfinity) W *= scale;
  const Rows<Exact> flat = W;
  found.W.assign(flat.data(), flat.data() + flat.size());
  const Spectrum primal = spectrum(W);
  found.singular_values.assign(static_cast<std::size_t>(std::min(W.rows(), W.cols())), 0.0);
  std::copy(primal.values.begin(), primal.values.end(), found.singular_values.begin());
  found.rank = static_cast<std::size_t>((primal.values.array() > kRank * primal.values[0]).count());
  const Vectorised vectors(rows_, left_tail_);
  MarginProof proof(vectors);
  const Exact missing = proof.feasible_scale({flat.data(), static_cast<std::size_t>(flat.size())});
  found.upper =
      missing < kInfinity ? rounded_up(primal.sum * missing * (1 + 2 * kRoundoff)) : kInfinity;

  std::vector<Multiplier> lambda;
  for (std::size_t k = 0; k < kept_.size(); ++k) {
    const Exact value = record.lambda[static_cast<Index>(k)] / sizes_[kept_[k]];
    lambda.push_back({static_cast<std::size_t>(kept_[k]), static_cast<double>(value)});
    found.multipliers[lambda.back().index] = lambda.back().value;
  }
  const Combination sum = proof.combine(lambda);
  const Matrix<Exact> S = Eigen::Map<const Rows<Exact>>(sum.rows.data(), W.rows(), W.cols());
  found.lower = sum.lower_bound(spectrum(S).first);
  found.relative_gap = relative_gap(found.upper, found.lower);
  found.norm = std::max(static_cast<double>(primal.values.sum()), found.lower);
}

void Problem::report_farkas(std::span<const Multiplier> farkas, NuclearMargin& found) const {
  Vector<Exact> lambda = Vector<Exact>::Zero(rows_.size());
  for (const auto& [j, value] : farkas) lambda[static_cast<Index>(j)] = value;
  found.farkas.assign(lambda.data(), lambda.data() + lambda.size());
  const Exact lengths = lambda.dot(sizes_), rest = whole_rows().combine(lambda).norm();
  found.farkas_residual = lengths > 0 ? static_cast<double>(rest / lengths) : 0;
}

// Feasibility is the same for every norm. A feasible point goes to the record.
bool infeasible(const Problem& problem, Record& record, NuclearMargin& found) {
  const RankOneRows<double>& rows = problem.rows();
  const HardMargin nearest = hard_margin(Vectorised(rows, problem.left_tail()));
  if (!nearest.farkas.empty()) problem.report_farkas(nearest.farkas, found);
  found.lower = nearest.lower;  // |W|_* >= |W|_F
  if (nearest.status == MarginStatus::infeasible) return true;
  record.offer_primal(problem.reduced(
      Eigen::Map<const Rows<double>>(nearest.p.data(), rows.left.cols(), rows.right.cols())));
  return false;
}

Outcome solve(const Problem& problem, const NuclearMarginOptions& options, Record& record,
              NuclearMargin& found) {
  const RankOneRows<double>& rows = problem.unit_rows();
  Point<double> point;
  Outcome outcome = Outcome::stalled;
  if (!problem.is_contradictory()) {
    point = first_point(rows);
    outcome = follow<double>(rows, point, record, options, found.iterations);
  }
  if (record.upper == kInfinity && infeasible(problem, record, found)) return Outcome::infeasible;
  if (outcome == Outcome::stalled)
    outcome = follow<Exact>(rows, point, record, options, found.iterations);
  return outcome;
}

}  // namespace

NuclearMargin nuclear_margin(const RankOneConstraints& constraints,
                             const NuclearMarginOptions& options) {
  const Problem problem(constraints);
  NuclearMargin found = problem.zero();
  if (problem.asks_nothing()) return found;
  Record record(problem.unit_rows());
  const Outcome outcome = solve(problem, options, record, found);
  if (outcome == Outcome::infeasible) {
    found.status = MarginStatus::infeasible;
    found.upper = kInfinity;
    found.relative_gap = 1;
    return found;
  }
  problem.report(record, found);
  found.status = found.relative_gap <= options.tolerance ? MarginStatus::optimal
                 : outcome == Outcome::iteration_limit   ? MarginStatus::iteration_limit
                                                         : MarginStatus::precision_limit;
  if (found.status == MarginStatus::optimal) found.farkas.clear(), found.farkas_residual = 0;
  return found;
}

}  // namespace attractor::solve
