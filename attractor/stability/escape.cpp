#include "attractor/stability/escape.hpp"

#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "attractor/base/dense.hpp"
#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"

namespace attractor::meanfield {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

struct Weighted {
  RowMatrix x;    // n x dim
  VectorXd m;     // of sum 1
  MatrixXd gap;   // 1 - c_ij, from distances: no cancellation
  MatrixXd pull;  // e^{-beta gap}
  double beta;
};

Weighted weighted(std::span<const double> tokens, std::size_t dim, std::span<const double> masses,
                  double beta) {
  if (dim < 2 || tokens.empty() || tokens.size() % dim != 0 || tokens.size() > 2048)
    throw Error(fmt::format("{} numbers are no tokens of dimension {}; at most 2048 are taken",
                            tokens.size(), dim));
  if (!(beta >= 0 && std::isfinite(beta)))
    throw Error(fmt::format("beta is {}; allowed: 0 or more, finite", beta));
  const auto n = static_cast<Eigen::Index>(tokens.size() / dim);
  if (!masses.empty() && static_cast<Eigen::Index>(masses.size()) != n)
    throw Error(fmt::format("{} masses for {} tokens", masses.size(), n));
  Weighted w{.x = Eigen::Map<const RowMatrix>(tokens.data(), n, static_cast<Eigen::Index>(dim)),
             .m = VectorXd::Constant(n, 1),
             .gap = MatrixXd::Zero(n, n),
             .pull = MatrixXd::Zero(n, n),
             .beta = beta};
  if (!masses.empty()) w.m = Eigen::Map<const VectorXd>(masses.data(), n);
  if (!(w.m.minCoeff() > 0))
    throw Error(fmt::format("a mass is {}; it must be above 0", w.m.minCoeff()));
  w.m /= w.m.sum();
  for (Eigen::Index i = 0; i < n; ++i)
    for (Eigen::Index j = 0; j < n; ++j) {
      w.gap(i, j) = (w.x.row(i) - w.x.row(j)).squaredNorm() / 2;
      w.pull(i, j) = std::exp(-beta * w.gap(i, j));
    }
  return w;
}

MatrixXd projector(const Weighted& w, Eigen::Index i) {
  const Eigen::Index d = w.x.cols();
  return MatrixXd::Identity(d, d) - w.x.row(i).transpose() * w.x.row(i);
}

/// E'' in the coordinates sqrt(m_i) v_i.
MatrixXd second_derivative(const Weighted& w) {
  const Eigen::Index n = w.x.rows(), d = w.x.cols();
  MatrixXd a = MatrixXd::Zero(n * d, n * d);
  for (Eigen::Index i = 0; i < n; ++i) {
    const MatrixXd p = projector(w, i);
    for (Eigen::Index j = 0; j < n; ++j) {
      if (i == j) continue;
      const double weight = w.pull(i, j);
      const VectorXd xj = w.x.row(j).transpose(), xi = w.x.row(i).transpose();
      const VectorXd seen = xj - (1 - w.gap(i, j)) * xi;  // P_i x_j
      a.block(i * d, i * d, d, d) +=
          w.m(j) * weight * (-(1 - w.gap(i, j)) * p + w.beta * seen * seen.transpose());
      const VectorXd back = xi - (1 - w.gap(i, j)) * xj;  // P_j x_i
      a.block(i * d, j * d, d, d) += std::sqrt(w.m(i) * w.m(j)) * weight *
                                     (p * projector(w, j) + w.beta * seen * back.transpose());
    }
  }
  return a;
}

double force_of(const Weighted& w) {
  double largest = 0;
  for (Eigen::Index i = 0; i < w.x.rows(); ++i) {
    VectorXd sum = VectorXd::Zero(w.x.cols());
    for (Eigen::Index j = 0; j < w.x.rows(); ++j)
      sum += w.m(j) * w.pull(i, j) * (w.x.row(j) - (1 - w.gap(i, j)) * w.x.row(i)).transpose();
    largest = std::max(largest, sum.norm());
  }
  return largest;
}

/// Rounding, relative to each term: of tokens and distances (16 eps: unit vectors and their
/// differences are known to about 4 eps, the gap to twice that and what is added), of the
/// exponent, of a sum of so many terms.
double rounding(const Weighted& w, double terms) { return kEpsilon * (16 + 8 * w.beta + terms); }

Enclosed frame_of(const Weighted& w) {
  const Eigen::Index n = w.x.rows();
  const auto d = static_cast<double>(w.x.cols());
  double sum = 0, size = 0;
  for (Eigen::Index i = 0; i < n; ++i)
    for (Eigen::Index j = 0; j < n; ++j) {
      const double g = w.gap(i, j), share = w.m(i) * w.m(j) * w.pull(i, j) * g;
      sum += share * ((d - 3 + g) + w.beta * g * (2 - g));
      size += share * (d + 1 + 2 * w.beta * g);
    }
  return {sum / (d - 1), rounding(w, static_cast<double>(n * n)) * size / (d - 1)};
}

}  // namespace

Escape escape(std::span<const double> tokens, std::size_t dim, std::span<const double> masses,
              double beta) {
  const Weighted w = weighted(tokens, dim, masses, beta);
  const MatrixXd a = second_derivative(w);
  const SymmetricEigen eigen = symmetric_eigen(a);
  const Eigen::Index last = eigen.values.size() - 1, n = w.x.rows(), d = w.x.cols();
  const VectorXd v = eigen.vectors.col(last);
  // Some eigenvalue is within |A v - value v| / |v| of `value`, for symmetric A.
  const double residual = (a * v - eigen.values(last) * v).norm() / v.norm();
  // Entries are sums of at most n terms below (1 + beta) m_j pull, without a token's own.
  MatrixXd others = w.pull;
  others.diagonal().setZero();
  const double size = (1 + beta) * ((others * w.m).maxCoeff() + others.norm() * w.m.maxCoeff());
  Escape result{
      .rate = {eigen.values(last), residual + rounding(w, static_cast<double>(n + 4 * d)) * size},
      .frame = frame_of(w),
      .force = force_of(w)};
  for (Eigen::Index i = 0; i < n; ++i)
    for (Eigen::Index c = 0; c < d; ++c)
      result.direction.push_back(v(i * d + c) / std::sqrt(w.m(i)));
  return result;
}

}  // namespace attractor::meanfield
