#include "attractor/training/kinks/held_descent.hpp"

#include <algorithm>
#include <cmath>

#include "attractor/base/eigen.hpp"
#include "attractor/base/random.hpp"
#include "attractor/space/space.hpp"

namespace attractor::training {
namespace {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;
constexpr Eigen::Index kWhole = 400, kKrylov = 80;
constexpr std::size_t kSphere = SIZE_MAX;

// The sphere as one more surface: the ball is where it is off. It pushes back by any amount.
void add_sphere(std::span<const double> w, double push, Surfaces& surfaces) {
  const double length = norm(w);
  surfaces.kink.push_back(kSphere);
  for (double x : w) surfaces.normal.push_back(x / length);
  surfaces.log_slope.push_back(-std::log(length));
  surfaces.jump.push_back(-push);
}

double longest(std::span<const double> rows, std::size_t dim) {
  double most = 0;
  for (std::size_t i = 0; i < rows.size() / dim; ++i)
    most = std::max(most, norm(rows.subspan(i * dim, dim)));
  return most;
}

}  // namespace

Footing find_footing(const Objective& objective, const Kinks& kinks, std::span<const double> w,
                     double radius, const Nearness& near, double unit) {
  Evaluation e;
  objective.evaluate(w, e);
  Footing footing;
  std::vector<std::size_t> met;
  if (!kinks.empty()) {
    footing.sides = kinks.sides(e);
    // |grad h| <= max |x - x'| max |k - k'| in the units of h; K and Q multiply each other's.
    const double steepest = 2 * weight_scale(objective, e) * std::max(1.0, norm(w));
    for (std::size_t a = 0; a < kinks.size(); ++a)
      if (std::abs(kinks.height(a, e)) <= std::max(near.height, near.distance * steepest))
        met.push_back(a);
    const Surfaces all = kinks.surfaces(met, w, e, unit);
    met.clear();
    for (std::size_t k = 0; k < all.size(); ++k) {
      const double height = std::abs(kinks.height(all.kink[k], e));
      if (height > near.height && std::log(height) - all.log_slope[k] > std::log(near.distance))
        continue;
      if (all.jump[k] > 0) footing.on_ridge = true;
      if (all.jump[k] < 0) met.push_back(all.kink[k]), footing.sides[all.kink[k]] = Side::off;
    }
    objective.evaluate(w, e, kinks.piece(footing.sides));
  }
  Surfaces surfaces = kinks.surfaces(met, w, e, unit);
  const std::vector<double> d = descent_in_unit(objective, e, unit);
  footing.size = norm(d);
  for (double jump : surfaces.jump) footing.size += std::abs(jump);
  if (radius < kNoBall &&
      norm(w) >= radius - std::max({near.distance, near.height * radius, near.sphere}))
    add_sphere(w, 2 * footing.size, surfaces);
  SmallestDescent z = smallest_descent(d, surfaces);
  if (surfaces.size() == 0) footing.size = norm(d);
  for (std::size_t k = 0; k < surfaces.size(); ++k) {
    const double share = z.share[k];
    if (surfaces.kink[k] == kSphere)
      footing.on_sphere = share > 0;
    else
      footing.sides[surfaces.kink[k]] = share <= 0 ? Side::off : share >= 1 ? Side::on : Side::held;
  }
  footing.descent = std::move(z.descent);
  return footing;
}

HeldDescent::HeldDescent(const Objective& objective, const Kinks& kinks, const Footing& footing,
                         double radius, double log_unit)
    : objective_(objective),
      kinks_(kinks),
      piece_(kinks.empty() ? Piece() : kinks.piece(footing.sides)),
      on_sphere_(footing.on_sphere),
      radius_(radius),
      unit_(log_unit) {
  for (std::size_t a = 0; a < footing.sides.size(); ++a)
    if (footing.sides[a] == Side::held) held_.push_back(a);
}

Surfaces HeldDescent::surfaces(std::span<const double> w) {
  objective_.evaluate(w, e_, piece_);
  Surfaces held = kinks_.surfaces(held_, w, e_, unit_);
  if (on_sphere_) add_sphere(w, 1, held);
  return held;
}

Vector HeldDescent::at(const Vector& w) {
  const Surfaces held = surfaces(view(w));
  std::vector<double> d = descent_in_unit(objective_, e_, unit_);
  if (held.size() > 0) d = sliding_descent(d, held).descent;
  return Eigen::Map<const Vector>(d.data(), w.size());
}

PivotedQr HeldDescent::normals(const Vector& w) {
  const Surfaces held = surfaces(view(w));
  if (held.size() == 0) return PivotedQr(Matrix::Zero(w.size(), 1));
  const Eigen::Map<const RowMatrix> rows(held.normal.data(), static_cast<Eigen::Index>(held.size()),
                                         w.size());
  return PivotedQr(rows.transpose());
}

Vector HeldDescent::put_on(const Vector& w) {
  Vector on = w;
  for (int k = 0; k < 5; ++k) {
    const Surfaces held = surfaces(view(on));
    if (held.size() == 0) return on;
    std::vector<double> height;
    for (std::size_t a : held.kink)
      height.push_back(a == kSphere ? (on.norm() - radius_) / on.norm() : kinks_.height(a, e_));
    const std::vector<double> move = move_onto(held, height, static_cast<std::size_t>(on.size()));
    on += Eigen::Map<const Vector>(move.data(), on.size());
  }
  return on_sphere_ ? Vector(on * (radius_ / on.norm())) : on;
}

HeldDescent::Curvature HeldDescent::curvature(const Vector& w, double step) {
  const auto qr = normals(w);
  const Eigen::Index rank = qr.rank(), full = w.size() - rank;
  const Eigen::Index size = full <= kWhole ? full : kKrylov;
  // Coordinates of which the first `rank` are normal to the surfaces, the others tangent.
  const auto tangent = [&](Vector u) -> Vector {
    if (rank == 0) return u;
    qr.apply_q_transposed(u);
    u.head(rank).setZero();
    qr.apply_q(u);
    return u;
  };
  const auto times = [&](const Vector& u) {
    return tangent((at(w - step * u) - at(w + step * u)) / (2 * step));
  };
  Curvature c{Matrix::Zero(w.size(), size), Matrix::Zero(size, size)};
  Matrix images(w.size(), size);
  // All of the tangent space, or a Krylov space of z and of a vector with a part in every
  // direction.
  const auto candidate = [&](Eigen::Index k) -> Vector {
    if (full <= kWhole) {
      Vector u = Vector::Unit(w.size(), rank + k);
      if (rank > 0) qr.apply_q(u);
      return u;
    }
    if (k > 1) return images.col(k - 2);
    const Vector z = at(w);
    if (k == 0 && z.norm() > 0) return z;
    Vector any(w.size());
    Stream(0, "curvature").normals(0, {any.data(), static_cast<std::size_t>(any.size())});
    return tangent(any);
  };
  for (Eigen::Index k = 0; k < size; ++k) {
    Vector next = candidate(k).normalized();
    for (int twice = 0; twice < 2 && full > kWhole; ++twice)
      next = (next - c.basis.leftCols(k) * (c.basis.leftCols(k).transpose() * next)).normalized();
    c.basis.col(k) = next;
    images.col(k) = times(next);
  }
  c.hessian = c.basis.transpose() * images;
  c.hessian = (c.hessian + Matrix(c.hessian.transpose())) / 2;
  return c;
}

double weight_scale(const Objective& objective, const Evaluation& e) {
  const Problem& p = objective.problem();
  double most = objective.trained().head ? longest(e.feature, p.head.units()) : 0;
  const AttentionPart part = objective.trained().attention;
  if (part == AttentionPart::prompt) most = std::max(most, longest(keys(p), p.dim));
  if (part == AttentionPart::weights || part == AttentionPart::factors)
    most = std::max(most, longest(p.x, p.dim) * longest(objective.given_queries(), p.dim));
  return most;
}

}  // namespace attractor::training
