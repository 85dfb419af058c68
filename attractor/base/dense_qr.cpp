#include <Eigen/QR>
#include <utility>

#include "attractor/base/dense.hpp"

namespace attractor {

using Eigen::MatrixXd;
using Eigen::VectorXd;

struct PivotedQr::Factors {
  Eigen::ColPivHouseholderQR<MatrixXd> qr;
};

PivotedQr::PivotedQr(const MatrixXd& A, double threshold) {
  Eigen::ColPivHouseholderQR<MatrixXd> qr(A);
  if (threshold > 0) qr.setThreshold(threshold);
  factors_ = std::make_unique<const Factors>(Factors{std::move(qr)});
}
PivotedQr::PivotedQr(PivotedQr&&) noexcept = default;
PivotedQr::~PivotedQr() = default;

Eigen::Index PivotedQr::rank() const { return factors_->qr.rank(); }
MatrixXd PivotedQr::span() const { return MatrixXd(factors_->qr.householderQ()).leftCols(rank()); }
VectorXd PivotedQr::solve(const VectorXd& b) const { return factors_->qr.solve(b); }
void PivotedQr::apply_q(VectorXd& u) const { u.applyOnTheLeft(factors_->qr.householderQ()); }
void PivotedQr::apply_q_transposed(VectorXd& u) const {
  u.applyOnTheLeft(factors_->qr.householderQ().adjoint());
}

MatrixXd thin_q(const MatrixXd& A) {
  const Eigen::HouseholderQR<MatrixXd> factor(A);
  return factor.householderQ() * MatrixXd::Identity(A.rows(), A.cols());
}

}  // namespace attractor
