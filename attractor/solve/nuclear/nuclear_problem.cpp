#include "attractor/solve/nuclear/nuclear_problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "attractor/base/dense.hpp"
#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/solve/enclosed_sum.hpp"

namespace attractor::solve::nuclear {
namespace {

constexpr double kRank = 1e-7;  // of the largest singular value
constexpr Exact kRoundoff = std::numeric_limits<Exact>::epsilon();

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
  return thin_q(rows.transpose());
}

}  // namespace

double relative_gap(double upper, double lower) {
  if (upper == 0) return 0;
  return upper < kInfinity ? (upper - lower) / upper : 1.0;
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
  const ExtendedEigen eigen = extended_eigen(both, Vectors::all);
  const Matrix<Exact> vectors = std::sqrt(Exact(2)) * eigen.vectors.rightCols(rank);
  const Matrix<Exact> U = left * vectors.topRows(a), V = right * vectors.bottomRows(b);
  Spectrum found{.values = eigen.values.tail(rank).cwiseMax(Exact(0))};
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

void Problem::report(const Matrix<double>& found_W, const Vector<double>& found_lambda,
                     NuclearMargin& found, Schatten norm) const {
  const bool by_sum = norm == Schatten::nuclear;
  Matrix<Exact> W = unit_ * (left_span_.cast<Exact>() * found_W.cast<Exact>() *
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
  const Exact above = by_sum ? primal.sum : primal.first;
  found.upper = missing < kInfinity ? rounded_up(above * missing * (1 + 2 * kRoundoff)) : kInfinity;

  std::vector<Multiplier> lambda;
  for (std::size_t k = 0; k < kept_.size(); ++k) {
    const Exact value = found_lambda[static_cast<Index>(k)] / sizes_[kept_[k]];
    lambda.push_back({static_cast<std::size_t>(kept_[k]), static_cast<double>(value)});
    found.multipliers[lambda.back().index] = lambda.back().value;
  }
  const Combination sum = proof.combine(lambda);
  const Matrix<Exact> S = Eigen::Map<const Rows<Exact>>(sum.rows.data(), W.rows(), W.cols());
  const Spectrum dual = spectrum(S);
  found.lower = sum.lower_bound(by_sum ? dual.first : dual.sum);
  found.relative_gap = relative_gap(found.upper, found.lower);
  const Exact size = by_sum ? primal.values.sum() : primal.values[0];
  found.norm = std::max(static_cast<double>(size), found.lower);
}

void Problem::report_farkas(std::span<const Multiplier> farkas, NuclearMargin& found) const {
  Vector<Exact> lambda = Vector<Exact>::Zero(rows_.size());
  for (const auto& [j, value] : farkas) lambda[static_cast<Index>(j)] = value;
  found.farkas.assign(lambda.data(), lambda.data() + lambda.size());
  const Exact lengths = lambda.dot(sizes_), rest = whole_rows().combine(lambda).norm();
  found.farkas_residual = lengths > 0 ? static_cast<double>(rest / lengths) : 0;
}

}  // namespace attractor::solve::nuclear
