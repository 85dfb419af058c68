// The descent of a loss held on the surfaces that a point lies on: kinks it slides along
// (kinks.hpp) and, in a ball |w| <= R, the sphere if the descent presses against it,
//
//   z(w) = P(w) (-grad L),      H = -T^T Dz T,
//
// P the projection onto what is tangent to all of them, columns of T an orthonormal basis of that,
// H the Hessian of L on their intersection, by central differences. Up to 400 weights H is whole,
// beyond it is that of a Krylov space. Cost of H: two gradients a dimension.
#pragma once

#include <span>
#include <vector>

#include "attractor/base/dense.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/training/kinks/kinks.hpp"

namespace attractor::training {

inline constexpr double kNoBall = kInfinity;

/// What a point stands on.
struct Footing {
  std::vector<Side> sides{};
  bool on_sphere = false;
  bool on_ridge = false;          // descent is not unique there: no minimum
  std::vector<double> descent{};  // z, the smallest, in units of e^-log_unit
  double size = 0;                // of what cancels in z, in that unit; |z| if nothing does
};

/// Which surfaces count as met: those so near to the weights, kinks with a height below, the sphere
/// at a distance below.
struct Nearness {
  double distance = 0, height = 0, sphere = 0;
};

Footing find_footing(const Objective& objective, const Kinks& kinks,
                     std::span<const double> weights, double radius, const Nearness& near,
                     double log_unit);

class HeldDescent {
 public:
  /// Views: the objective and the kinks must outlive it.
  HeldDescent(const Objective& objective, const Kinks& kinks, const Footing& footing, double radius,
              double log_unit);

  Eigen::VectorXd at(const Eigen::VectorXd& w);
  /// The nearest point on the surfaces, to first order.
  Eigen::VectorXd put_on(const Eigen::VectorXd& w);

  struct Curvature {
    Eigen::MatrixXd basis;  // orthonormal columns
    Eigen::MatrixXd hessian;
  };
  Curvature curvature(const Eigen::VectorXd& w, double step);

 private:
  Surfaces surfaces(std::span<const double> w);
  PivotedQr normals(const Eigen::VectorXd& w);

  const Objective& objective_;
  const Kinks& kinks_;
  Piece piece_;
  std::vector<std::size_t> held_;
  bool on_sphere_;
  double radius_, unit_;
  Evaluation e_;
};

/// By how much logits, or outputs if v is trained, change at most for weights one apart.
double weight_scale(const Objective& objective, const Evaluation& e);

}  // namespace attractor::training
