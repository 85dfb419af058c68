// The regularisation path: the best weights of a given size,
//
//   w(R) = argmin { L(w) : |w| <= R },      jointly  (v, w)(r, R) = argmin { L : |v| <= r, |w| <= R
//   }
//
// with w the prompt p or the matrix W. As R grows w(R)/R tends to the max-margin direction of the
// best tokens (arXiv 2306.13596), jointly to that of label margin and (relaxed) token margin. Each
// w(R) also minimises L + lambda |w|^2 / 2 for lambda = |grad L| / R: the ridge form is the same
// curve.
//
// Radii are taken in ascending order. At each one a trust-region Newton method on the ball starts
// from the last solution, from given directions (max-margin solutions, random ones), for a head
// that is not linear from low points of random draws, and keeps the best. Each answer is a local
// minimum, as its residual shows; that none is lower is not proved. Heads with kinks:
// kinked_minimum.hpp. While softmax is saturated, L minus the loss of the selected tokens is
// minimised through its logarithm, which has full relative accuracy at any R: L itself stops moving
// at R ~ 40/margin. Where a nonlinear head is best served by a mixture there is no such base, and
// the path is known as far as L resolves it. The joint path alternates between v (convex) and w.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "attractor/training/objective.hpp"

namespace attractor::training {

struct PathPoint {
  double radius = 0, head_radius = 0;  // R; r (0: v is not trained)
  std::vector<double> weights{};       // w(R)
  std::vector<double> head{};          // v, if it is trained
  double loss = 0;
  double log10_ridge = 0;  // lambda of the ridge form; -inf if the ball does not bind
  std::vector<std::size_t> selected{};
  bool on_boundary = true;  // |w| = R
  double residual = 0;      // |tangential gradient| / |gradient|: 0 at the optimum; at kinks of the
                            // smallest subgradient
  std::uint64_t evaluations = 0;
};

struct PathOptions {
  std::vector<double> radii{};                    // R, ascending
  double head_ratio = 1;                          // r / R of the joint path
  std::vector<std::vector<double>> directions{};  // starts for every radius, any length
  std::uint64_t random_starts = 8;                // further directions
  std::uint64_t seed = 0;
  /// A local path: only weights within this angle of the first direction (0: everywhere).
  double cone = 0;
  std::function<bool()> stop{};
};

/// The attention of the objective is p or W; its v is trained for a joint path. Ends early if stop
/// says so.
std::vector<PathPoint> regularisation_path(const Objective& objective, const PathOptions& options);

}  // namespace attractor::training
