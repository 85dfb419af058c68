// Equiangular tokens at a time.
#pragma once

#include <cmath>

#include "attractor/reductions/equiangular.hpp"

namespace attractor::meanfield {

inline EquiangularState state(const Equiangular& e, double time) {
  return EquiangularFlow(e).at(std::log(time));
}

}  // namespace attractor::meanfield
