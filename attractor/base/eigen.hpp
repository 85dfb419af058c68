// Matrices as tokens are stored, row by row, and vectors of Eigen as spans.
#pragma once

#include <Eigen/Core>
#include <span>

namespace attractor {

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using VectorMap = Eigen::Map<const Eigen::VectorXd>;

inline std::span<const double> view(const Eigen::VectorXd& w) {
  return {w.data(), static_cast<std::size_t>(w.size())};
}

}  // namespace attractor
