// Observations compared bit by bit.
#pragma once

#include <cstddef>
#include <cstring>

#include "attractor/observe/observation.hpp"

namespace attractor::observe {

/// All columns and all further observables; NaN equals itself.
inline bool same_bits(const Observation& a, const Observation& b) {
  return std::memcmp(&a, &b, offsetof(Observation, more)) == 0 && a.more.size() == b.more.size() &&
         (a.more.empty() ||
          std::memcmp(a.more.data(), b.more.data(), a.more.size() * sizeof(double)) == 0);
}

}  // namespace attractor::observe
