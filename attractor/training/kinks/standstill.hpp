// Is there a minimum of the loss where these weights are? Told from the loss, not from how they
// came there (but for flat valleys, below). Kinks nearer than the distance asked for count as met;
// z is the smallest descent on them and H the Hessian of the loss along what is held
// (held_descent.hpp). In the eigenvectors of H the distance to the stationary point is z_j / H_j
// (Newton's step). It must be small for every j; where H_j is not resolved z_j must vanish to
// rounding. On the way to infinity, where z and H vanish alike, Newton's step is as long as what
// tells two tokens apart. No negative H_j: a minimum. Along a valley whose own slope is below the
// rounding of its walls' the loss tells nothing: weights that have lately come along it are on
// their way.
#pragma once

#include <span>

#include "attractor/training/objective.hpp"

namespace attractor::training {

enum class Standstill {
  moving,   // no stationary point within the distance, or none that the differences resolve
  saddle,   // stationary, and the loss falls in some direction
  minimum,  // stationary, and it falls in none
};

/// `distance`: of the weights to that point, relative to max(1, |w|); `lately`: where they were, if
/// that is known.
Standstill judge(const Objective& objective, std::span<const double> weights, double distance,
                 std::span<const double> lately = {});

}  // namespace attractor::training
