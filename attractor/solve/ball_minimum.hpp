// A local minimum of a smooth function on a ball,
//
//   minimise f(x)   subject to   |x| <= R,   x in R^d.
//
// The ball is lifted to the sphere, y = (x/R, s) with s^2 = 1 - |x|^2/R^2, where a constraint no
// longer exists, and a Riemannian trust-region Newton method (Absil, Baker, Gallivan, Found.
// Comput. Math. 7, 2007) runs there: conjugate gradients for the step, products with the Hessian
// from central differences of the gradient. Memory O(d). Cost of a Newton step: a few gradients for
// each direction of different curvature.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace attractor::solve {

struct BallFunction {
  /// f(x), and its gradient. -infinity: below everything the present base can tell apart.
  std::function<double(std::span<const double> x, std::span<double> gradient)> f{};
  /// Called at every accepted point: f may change its scale there (a logarithm of f minus another
  /// constant), as long as its minima stay the same.
  std::function<void(std::span<const double> x)> rebase{};
};

struct BallOptions {
  double tolerance = 1e-13;  // for residual
  double widest_step = 0.5;  // in units of R
  double difference = 1e-5;  // of x, for products with the Hessian (of x / R in small balls)
  std::size_t max_steps = 300;
  std::function<bool()> stop{};
};

struct BallMinimum {
  std::vector<double> x{};
  /// |gradient on the lifted sphere| / (R |gradient of f|); inside the ball, where the latter
  /// vanishes too, against its size at the start.
  double residual = 1;
  bool on_boundary = true;  // |x| = R; inside only if f is higher there
  std::size_t evaluations = 0;
};

/// From a start in the ball (longer ones are shortened).
BallMinimum ball_minimum(const BallFunction& function, std::span<const double> start, double radius,
                         const BallOptions& options = {});

}  // namespace attractor::solve
