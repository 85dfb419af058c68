#include "attractor/stability/circle_rest.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "attractor/base/dense.hpp"
#include "attractor/base/error.hpp"

namespace attractor::meanfield {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

VectorXd circle_velocity(const VectorXd& angles, double beta) {
  VectorXd v = VectorXd::Zero(angles.size());
  for (Index i = 0; i < angles.size(); ++i)
    for (Index j = 0; j < angles.size(); ++j) {
      const double x = angles[j] - angles[i];
      v[i] += std::exp(beta * std::cos(x)) * std::sin(x);
    }
  return v / static_cast<double>(angles.size());
}

MatrixXd circle_stiffness(const VectorXd& angles, double beta) {
  const Index n = angles.size();
  MatrixXd h = MatrixXd::Zero(n, n);
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < i; ++j) {
      const double c = std::cos(angles[i] - angles[j]);
      const double w = std::exp(beta * c) * (c - beta * (1 - c * c)) / static_cast<double>(n);
      h(i, j) = h(j, i) = -w;
      h(i, i) += w;
      h(j, j) += w;
    }
  return h;
}

/// Without the direction of rotations, which is moved up by `shift` to take no part.
MatrixXd without_rotation(MatrixXd h, double shift) {
  return h.array() + shift / static_cast<double>(h.rows());
}

}  // namespace

CircleRest rest_near(std::span<const double> given, double beta) {
  if (!(beta >= -20 && beta <= 100))
    throw Error(
        fmt::format("beta = {} is not allowed for states of rest; allowed: -20 to 100", beta));
  if (given.size() < 2)
    throw Error(fmt::format("{} tokens are no state of rest; allowed: 2 or more", given.size()));
  VectorXd angles = Eigen::Map<const VectorXd>(given.data(), static_cast<Index>(given.size()));
  const auto n = static_cast<double>(angles.size());
  const double eps = std::numeric_limits<double>::epsilon(), largest = std::exp(std::abs(beta));
  const double slope = largest * (1 + std::abs(beta)), bend = slope * (1 + 3 * std::abs(beta));
  constexpr int kSteps = 30;
  CircleRest rest;
  for (int k = 0; k < kSteps && !rest.found; ++k) {
    const VectorXd v = circle_velocity(angles, beta);
    rest.found = v.norm() <= 4 * std::sqrt(n) * eps * slope;
    if (!rest.found) angles += lu_solve(without_rotation(circle_stiffness(angles, beta), slope), v);
  }
  rest.angles.assign(angles.begin(), angles.end());
  const MatrixXd h = circle_stiffness(angles, beta);
  const SymmetricEigen eigen = symmetric_eigen(without_rotation(h, 4 * slope));
  rest.least = eigen.values[0];
  const VectorXd first = eigen.vectors.col(0);
  const double left_over = circle_velocity(angles, beta).norm() + 4 * n * eps * slope;
  // |f''| <= bend; H has rows of twice the sum of the changes of f'/n; Newton's step halves at
  // most.
  const double moved = 2 * left_over / std::abs(rest.least);
  rest.error = (h * first - rest.least * first).norm() + 4 * n * eps * slope + 4 * bend * moved;
  return rest;
}

}  // namespace attractor::meanfield
