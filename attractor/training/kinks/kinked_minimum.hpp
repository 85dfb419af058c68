// A local minimum of a loss with kinks (kinks.hpp) in the ball |w| <= R. It often lies on kinks,
// where no gradient vanishes. Two parts:
//
//   1. Every ReLU becomes softplus(s x) / s, which is above it by ln 2 / s at most, and that smooth
//      loss is minimised from the last solution for s = 10, 100, ... 10^6 over the size of x. The
//      units of that problem are s U, s b and v / s.
//   2. Kinks that the solution is at, and the sphere, are held (held_descent.hpp), and Newton's
//      method on them finds the exact point; which are held is asked again after each step.
//
// `residual` is measured on the loss with its kinks: the descent of smallest norm against the size
// of those around, also where it does not vanish because the second part could not improve.
#pragma once

#include <functional>
#include <span>

#include "attractor/solve/ball_minimum.hpp"
#include "attractor/training/objective.hpp"

namespace attractor::training {

/// The same problem with smooth ReLUs, `width` the scale on which they bend relative to their size.
Problem smoothed(const Problem& problem, double width);

struct KinkedOptions {
  double widest_step = 0.5;  // in units of R
  bool near = false;         // begin with s = 1000: stay near a start that is low already
  std::function<bool()> stop{};
};

solve::BallMinimum kinked_minimum(const Objective& objective, std::span<const double> start,
                                  double radius, const KinkedOptions& options);

}  // namespace attractor::training
