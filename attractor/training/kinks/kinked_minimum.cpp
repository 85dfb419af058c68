#include "attractor/training/kinks/kinked_minimum.hpp"

#include <algorithm>
#include <cmath>

#include "attractor/base/dense.hpp"
#include "attractor/base/eigen.hpp"
#include "attractor/space/space.hpp"
#include "attractor/training/kinks/held_descent.hpp"
#include "attractor/training/resolved_loss.hpp"

namespace attractor::training {
namespace {

using Vector = Eigen::VectorXd;
constexpr double kWidths[] = {1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6};
constexpr Nearness kAt{.height = 1e-11};
constexpr double kBend = 40;  // softplus is ReLU to rounding so many widths away

double loss_at(const Objective& objective, std::span<const double> w) {
  Evaluation e;
  objective.evaluate(w, e);
  return objective.loss(e);
}

// What is known of a point: on which surfaces it stands and how far it is from being stationary.
class Standing {
 public:
  Standing(const Objective& objective, const Kinks& kinks, double radius)
      : objective_(objective), kinks_(kinks), radius_(radius) {}

  double unit(const Vector& w) const {
    Evaluation e;
    objective_.evaluate(view(w), e);
    const double size = log_gradient(objective_, e);
    return std::isfinite(size) ? -size : 0;
  }

  Footing footing(const Vector& w, const Nearness& near) const {
    return find_footing(objective_, kinks_, view(w), radius_, near, unit(w));
  }

  // The smallest descent against those around, or against `first` = ln |grad L| at the start where
  // the point stands on nothing and all of them vanish.
  double residual(const Vector& w, const Footing& footing, double first) const {
    if (footing.on_ridge) return 1;
    const double around = std::max(footing.size, std::exp(std::min(700.0, first + unit(w))));
    const bool free = !footing.on_sphere && std::find(footing.sides.begin(), footing.sides.end(),
                                                      Side::held) == footing.sides.end();
    const double against = free ? around : footing.size;
    return against > 0 ? norm(footing.descent) / against : 0;
  }

  // Newton's step on what is held, back onto it.
  Vector newton(const Vector& from, const Footing& footing) const {
    const double log_unit = unit(from);
    HeldDescent held(objective_, kinks_, footing, radius_, log_unit);
    const Vector w = held.put_on(from);
    Evaluation e;
    objective_.evaluate(view(w), e);
    const double scale = weight_scale(objective_, e), length = std::max(1.0, w.norm());
    const auto c = held.curvature(w, 1e-5 * length / (1 + scale * length));
    if (c.basis.cols() == 0 || !c.hessian.allFinite()) return w;
    const SymmetricEigen eigen = symmetric_eigen(c.hessian);
    Vector push = eigen.vectors.transpose() * (c.basis.transpose() * held.at(w));
    const double resolved = 1e-7 * eigen.values.cwiseAbs().maxCoeff();
    for (Eigen::Index j = 0; j < push.size(); ++j)
      push[j] = eigen.values[j] > resolved ? push[j] / eigen.values[j] : 0;
    const Vector next = held.put_on(w + c.basis * (eigen.vectors * push));
    return next.norm() > radius_ ? Vector(next * (radius_ / next.norm())) : next;
  }

 private:
  const Objective& objective_;
  const Kinks& kinks_;
  double radius_;
};

struct Polished {
  Vector w;
  double loss = 0, residual = 1;
};

// Newton's method on what the point is taken to stand on, as long as it gets better.
Polished polish(const Objective& objective, const Standing& standing, const Vector& from,
                const Nearness& near, double first) {
  const auto seen = [&](const Vector& w, const Footing& footing) {
    return Polished{w, loss_at(objective, view(w)), standing.residual(w, footing, first)};
  };
  Polished best = seen(from, standing.footing(from, kAt));
  Footing footing = standing.footing(from, near);
  for (int k = 0; k < 20 && best.residual > 1e-15; ++k) {
    const Vector next = standing.newton(best.w, footing);
    if (!next.allFinite()) break;
    footing = standing.footing(next, kAt);
    Polished there = seen(next, footing);
    const double rounding = 1e-14 * std::abs(best.loss);
    if (!(there.loss <= best.loss + rounding)) break;
    if (!(there.loss < best.loss - rounding || there.residual < best.residual)) break;
    best = std::move(there);
  }
  return best;
}

// From the solution of the smooth problem. It may have come near the sphere only: both guesses.
void finish(const Objective& objective, double radius, double first, solve::BallMinimum& found) {
  const Kinks kinks(objective);
  const Standing standing(objective, kinks, radius);
  const Vector from =
      Eigen::Map<const Vector>(found.x.data(), static_cast<Eigen::Index>(found.x.size()));
  const Nearness inside{.height = kBend * kWidths[5]};
  Polished best = polish(objective, standing, from, inside, first);
  if (from.norm() > 0.99 * radius) {
    const Nearness outwards{.height = inside.height, .sphere = 0.011 * radius};
    Polished other = polish(objective, standing, from, outwards, first);
    if (other.loss <= best.loss) best = std::move(other);
    const Vector edge = from * (radius / from.norm());  // see ball_minimum: flat to rounding
    if (loss_at(objective, view(edge)) <= best.loss) {
      other = polish(objective, standing, edge, inside, first);
      if (other.loss <= best.loss) best = std::move(other);
    }
  }
  found.residual = best.residual;
  found.on_boundary = best.w.norm() >= radius * (1 - 1e-9);
  if (found.on_boundary) best.w *= radius / best.w.norm();
  found.x.assign(best.w.begin(), best.w.end());
}

}  // namespace

Problem smoothed(const Problem& problem, double width) {
  Problem smooth = problem;
  Head& head = smooth.head;
  const std::size_t d = problem.dim, units = head.units();
  double longest = 0;
  for (std::size_t row = 0; row < problem.x.size() / d; ++row)
    longest = std::max(longest, norm(std::span(problem.x).subspan(row * d, d)));
  if (head.hidden.empty()) {
    head.hidden.assign(units * d, 0.0);
    for (std::size_t k = 0; k < units; ++k) head.hidden[k * (d + 1)] = 1;
  }
  if (head.bias.empty()) head.bias.assign(units, 0.0);
  std::vector<Activation> each(units);
  for (std::size_t k = 0; k < units; ++k) {
    each[k] = problem.head.activation.of(k);
    if (each[k] != Activation::relu) continue;
    const auto row = std::span(head.hidden).subspan(k * d, d);
    const double size = norm(row) * longest + std::abs(head.bias[k]);
    if (size == 0) continue;
    each[k] = Activation::softplus;
    const double sharpness = 1 / (width * size);
    for (double& u : row) u *= sharpness;
    head.bias[k] *= sharpness;
    head.v[k] /= sharpness;
  }
  head.activation.each = each;
  return smooth;
}

solve::BallMinimum kinked_minimum(const Objective& objective, std::span<const double> start,
                                  double radius, const KinkedOptions& options) {
  solve::BallMinimum found{.x = {start.begin(), start.end()}};
  std::size_t evaluations = 0;
  for (double width : kWidths) {
    if (options.near && width > 1e-3) continue;
    const Problem problem = smoothed(objective.problem(), width);
    const Objective smooth(problem, objective.loss(), objective.trained());
    found = smooth_minimum(smooth, found.x, radius,
                           {.widest_step = options.widest_step,
                            .difference = std::min(1e-5, 0.01 * width),
                            .max_steps = 100,
                            .stop = options.stop});
    evaluations += found.evaluations;
  }
  // Far out softmax saturates and no kink is near: the logarithm of the excess still resolves L.
  const solve::BallMinimum plain = smooth_minimum(
      objective, found.x, radius, {.widest_step = options.widest_step, .stop = options.stop});
  const bool smooth_here = plain.residual <= 1e-10 && !lower(objective, found.x, plain.x);
  if (smooth_here || lower(objective, plain.x, found.x)) found = plain;
  found.evaluations = evaluations + plain.evaluations;
  if (smooth_here) return found;
  Evaluation e;
  objective.evaluate(start, e);
  finish(objective, radius, log_gradient(objective, e), found);
  return found;
}

}  // namespace attractor::training
