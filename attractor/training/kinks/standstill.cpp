#include "attractor/training/kinks/standstill.hpp"

#include <algorithm>
#include <cmath>

#include "attractor/base/dense.hpp"
#include "attractor/space/space.hpp"
#include "attractor/training/kinks/held_descent.hpp"

namespace attractor::training {

Standstill judge(const Objective& objective, std::span<const double> weights, double distance,
                 std::span<const double> lately) {
  const Kinks kinks(objective);
  Evaluation e;
  objective.evaluate(weights, e);
  const double size = log_gradient(objective, e), unit = std::isfinite(size) ? -size : 0;
  // At infinity Newton's step changes logits by about 1: what it may be here is well below.
  const double length = std::max(1.0, norm(weights)), scale = weight_scale(objective, e);
  const double far = std::min(distance * length, 1e-2 / scale);
  const Footing here = find_footing(objective, kinks, weights, kNoBall, {.distance = far}, unit);
  if (here.on_ridge) return Standstill::moving;
  HeldDescent held(objective, kinks, here, kNoBall, unit);
  const Eigen::VectorXd w =
      Eigen::Map<const Eigen::VectorXd>(weights.data(), static_cast<Eigen::Index>(weights.size()));
  const auto c = held.curvature(w, 1e-5 * length / (1 + scale * length));
  if (c.basis.cols() == 0) return Standstill::minimum;  // a corner that all sides lead to
  if (!c.hessian.allFinite()) return Standstill::moving;
  const SymmetricEigen eigen = symmetric_eigen(c.hessian);
  const Eigen::VectorXd& bend = eigen.values;
  const Eigen::VectorXd push = eigen.vectors.transpose() * (c.basis.transpose() * held.at(w));
  const double most = bend.cwiseAbs().maxCoeff(), resolved = 1e-7 * most;
  const double rounding = 1e-13 * most * std::max(length, 1 / scale) + 1e-14 * here.size;
  Eigen::VectorXd way = Eigen::VectorXd::Zero(bend.size());
  if (!lately.empty())
    way = eigen.vectors.transpose() *
          (c.basis.transpose() * (w - Eigen::Map<const Eigen::VectorXd>(lately.data(), w.size())));
  bool falls = false;
  for (Eigen::Index j = 0; j < bend.size(); ++j) {
    if (bend[j] < -resolved) falls = true;
    const double allowed = bend[j] > resolved ? std::max(rounding, bend[j] * far) : rounding;
    if (std::abs(push[j]) > allowed) return Standstill::moving;
    if (std::abs(bend[j]) <= resolved && std::abs(way[j]) > far) return Standstill::moving;
  }
  return falls ? Standstill::saddle : Standstill::minimum;
}

}  // namespace attractor::training
