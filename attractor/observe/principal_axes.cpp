#include "attractor/observe/principal_axes.hpp"

#include <algorithm>

#include "attractor/base/dense.hpp"
#include "attractor/base/eigen.hpp"

namespace attractor::observe {

PrincipalAxes principal_axes(std::span<const double> points, std::size_t dim, std::size_t count) {
  const auto d = static_cast<Eigen::Index>(dim), n = static_cast<Eigen::Index>(points.size() / dim);
  PrincipalAxes found{.axes = std::vector<double>(count * dim, 0.0),
                      .shares = std::vector<double>(count, 1.0)};
  if (n == 0) return found;
  Eigen::MatrixXd rows = Eigen::Map<const RowMajor>(points.data(), n, d);
  rows.rowwise() -= rows.colwise().mean().eval();
  const bool tall = n >= d;
  const Eigen::MatrixXd square =
      tall ? Eigen::MatrixXd(rows.transpose() * rows) : Eigen::MatrixXd(rows * rows.transpose());
  const SymmetricEigen eigen = symmetric_eigen(square);
  const double all = square.trace();
  double seen = 0;
  for (std::size_t k = 0; k < std::min(count, static_cast<std::size_t>(square.rows())); ++k) {
    const Eigen::Index column = square.rows() - 1 - static_cast<Eigen::Index>(k);  // they ascend
    seen += std::max(0.0, eigen.values[column]);
    Eigen::VectorXd axis = eigen.vectors.col(column);
    if (!tall) axis = rows.transpose() * axis;
    if (axis.norm() > 0) axis.normalize();
    Eigen::Index largest = 0;
    axis.cwiseAbs().maxCoeff(&largest);
    if (axis[largest] < 0) axis = -axis;
    std::copy(axis.data(), axis.data() + d,
              found.axes.begin() + static_cast<std::ptrdiff_t>(k * dim));
    if (all > 0)
      std::fill(found.shares.begin() + static_cast<std::ptrdiff_t>(k), found.shares.end(),
                std::min(1.0, seen / all));
  }
  return found;
}

}  // namespace attractor::observe
