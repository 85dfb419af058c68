#include "attractor/solve/ball_minimum.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

namespace attractor::solve {
namespace {

using Vector = Eigen::VectorXd;
constexpr double kEdge = 0.99, kBoundary = 1 - 1e-9;  // |x| / R

class Search {
 public:
  Search(const BallFunction& function, std::span<const double> start, double radius,
         const BallOptions& options)
      : function_(function),
        options_(options),
        radius_(radius),
        dim_(static_cast<Eigen::Index>(start.size())) {
    y_ = Vector::Zero(dim_ + 1);
    for (Eigen::Index k = 0; k < dim_; ++k) y_[k] = start[static_cast<std::size_t>(k)] / radius;
    // Never on the boundary itself, where no slope points inwards.
    const double length = y_.norm();
    if (length > 0.9999) y_ *= 0.9999 / length;
    y_[dim_] = std::sqrt(1 - y_.squaredNorm());
  }

  BallMinimum run() {
    look();
    first_ = here_.size;
    descend();
    if (step_outwards()) descend();
    return result();
  }

 private:
  struct Look {
    double value;
    Vector slope;  // Riemannian gradient
    double size;   // R |gradient of f|
  };

  Look at(const Vector& y) {
    std::vector<double> x(static_cast<std::size_t>(dim_)), gradient(x.size());
    for (Eigen::Index k = 0; k < dim_; ++k) x[static_cast<std::size_t>(k)] = radius_ * y[k];
    ++evaluations_;
    Look look{function_.f(x, gradient), Vector::Zero(dim_ + 1), 0};
    for (Eigen::Index k = 0; k < dim_; ++k)
      look.slope[k] = radius_ * gradient[static_cast<std::size_t>(k)];
    look.size = look.slope.norm();
    look.slope -= look.slope.dot(y) * y;
    return look;
  }

  void look() {
    std::vector<double> x(static_cast<std::size_t>(dim_));
    for (Eigen::Index k = 0; k < dim_; ++k) x[static_cast<std::size_t>(k)] = radius_ * y_[k];
    if (function_.rebase) function_.rebase(x);
    here_ = at(y_);
  }

  void descend() {
    double trust = options_.widest_step / 4;
    for (std::size_t step = 0; step < options_.max_steps; ++step) {
      if (residual() <= options_.tolerance || trust < 1e-16) break;
      if (options_.stop && options_.stop()) break;
      if (!improve(trust)) break;
    }
  }

  // Where f is flat to rounding it hardly leaves its start just inside the ball. What is no higher
  // on the boundary belongs there.
  bool step_outwards() {
    const double length = y_.head(dim_).norm();
    if (length < kEdge || length > kBoundary) return false;
    Vector edge = y_ / length;
    edge[dim_] = 0;
    Look there = at(edge);
    if (!(there.value <= here_.value)) return false;
    y_ = std::move(edge);
    look();
    return true;
  }

  double residual() const { return here_.size > 0 ? here_.slope.norm() / here_.size : 0; }

  Vector curvature(const Vector& direction) {
    const double epsilon = options_.difference / std::max(1.0, radius_) / direction.norm();
    const auto slope = [&](double e) { return at((y_ + e * direction).normalized()).slope; };
    Vector h = (slope(epsilon) - slope(-epsilon)) / (2 * epsilon);
    return h - h.dot(y_) * y_;
  }

  // Steihaug's truncated conjugate gradients: the step and the fall of the model along it.
  Vector model_step(double trust, double& predicted) {
    Vector step = Vector::Zero(dim_ + 1), r = here_.slope, direction = -r;
    predicted = 0;
    const double enough = r.norm() * std::clamp(residual(), 1e-6, 0.1);  // what differences resolve
    const auto to_edge = [&] {
      const double a = direction.squaredNorm(), b = step.dot(direction),
                   c = step.squaredNorm() - trust * trust;
      return (-b + std::sqrt(std::max(0.0, b * b - a * c))) / a;
    };
    for (Eigen::Index k = 0; k < std::min<Eigen::Index>(dim_ + 1, 200); ++k) {
      const Vector h = curvature(direction);
      if (!h.allFinite()) break;
      const double bend = direction.dot(h), squared = r.squaredNorm();
      double length = bend > 0 ? squared / bend : 0;
      const bool edge = bend <= 0 || (step + length * direction).norm() >= trust;
      if (edge) length = to_edge();
      predicted -= length * r.dot(direction) + length * length * bend / 2;
      step += length * direction;
      if (edge) return step;
      r += length * h;
      if (r.norm() <= enough) return step;
      direction = -r + r.squaredNorm() / squared * direction;
      direction -= direction.dot(y_) * y_;
    }
    return step;
  }

  // One Newton step; false if rounding allows none.
  bool improve(double& trust) {
    double predicted = 0;
    const Vector step = model_step(trust, predicted);
    if (step.norm() == 0) return false;
    const Vector next = (y_ + step).normalized();
    const Look there = at(next);
    const double fall = here_.value - there.value;
    // Below the resolution of f only its gradient tells better from worse.
    const bool blind = predicted <= 1e-14 * std::max(1.0, std::abs(here_.value));
    const bool better = blind ? there.slope.norm() < here_.slope.norm() : fall > 1e-4 * predicted;
    if (better) {
      y_ = next;
      if (!blind && fall > 0.75 * predicted && step.norm() > 0.9 * trust)
        trust = std::min(2 * trust, options_.widest_step);
      look();
      return true;
    }
    if (blind) return false;
    trust = std::min(trust, step.norm()) / 4;
    return true;
  }

  BallMinimum result() const {
    BallMinimum answer{.residual = residual(), .evaluations = evaluations_};
    const double length = y_.head(dim_).norm();
    answer.on_boundary = length > kBoundary;
    if (!answer.on_boundary && first_ > 0) answer.residual = here_.slope.norm() / first_;
    for (Eigen::Index k = 0; k < dim_; ++k)
      answer.x.push_back(radius_ * y_[k] / (answer.on_boundary ? length : 1));
    return answer;
  }

  const BallFunction& function_;
  const BallOptions& options_;
  double radius_;
  Eigen::Index dim_;
  Vector y_;
  Look here_{};
  double first_ = 0;  // size of the first gradient
  std::size_t evaluations_ = 0;
};

}  // namespace

BallMinimum ball_minimum(const BallFunction& function, std::span<const double> start, double radius,
                         const BallOptions& options) {
  return Search(function, start, radius, options).run();
}

}  // namespace attractor::solve
