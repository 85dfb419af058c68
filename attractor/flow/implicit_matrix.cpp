#include "attractor/flow/implicit_matrix.hpp"

#include <algorithm>
#include <cmath>

#include "attractor/base/dense.hpp"

namespace attractor::flow {
namespace {

constexpr double kStiffest = 1e8;

}  // namespace

double ImplicitMatrix::longest_step(const Flow& flow, std::span<const double> state,
                                    double log_unit) {
  if (known_) return longest_;
  jacobian_.resize(state.size() * state.size());
  bool known = flow.jacobian(state, log_unit, jacobian_);
  double largest = 0;
  for (const double entry : jacobian_) {
    known = known && std::isfinite(entry);
    largest = std::max(largest, std::abs(entry));
  }
  longest_ = known ? kStiffest / largest : 0;
  known_ = true;
  return longest_;
}

void ImplicitMatrix::set(double h, double gamma) {
  const auto dim = static_cast<Eigen::Index>(std::sqrt(jacobian_.size()));
  Eigen::MatrixXd w = -h * Eigen::Map<const RowMatrix>(jacobian_.data(), dim, dim);
  w.diagonal().array() += 1 / gamma;
  factors_ = std::make_shared<const Lu>(w);
}

void ImplicitMatrix::solve(std::span<double> k) const {
  Eigen::Map<Eigen::VectorXd> right(k.data(), static_cast<Eigen::Index>(k.size()));
  right = factors_->solve(right);
}

}  // namespace attractor::flow
