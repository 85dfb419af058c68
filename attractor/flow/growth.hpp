// How fast a small perturbation of an equilibrium grows: the largest real part of an eigenvalue of
// the linearised flow, by iterating u <- u + s J u with central differences for J u and s below
// 1/|J|. Motions along a continuum of equilibria (a rotation of all points) have rate 0, so that a
// stable equilibrium has 0 or less. Cost: some hundred evaluations of the drift.
#pragma once

#include <span>

#include "attractor/flow/flow.hpp"

namespace attractor::flow {

struct Growth {
  double rate = 0;       // per e^log_unit
  double stiffness = 0;  // size of the linearised flow, likewise; the rate is known to 1e-6 of it
  bool grows() const { return rate > 1e-6 * stiffness; }
};

Growth growth_of_perturbations(const Flow& flow, std::span<const double> state, double log_unit);

}  // namespace attractor::flow
