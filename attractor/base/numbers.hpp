// Numbers that are none, what has no end, and the distance from one to the next.
#pragma once

#include <limits>

namespace attractor {

/// Not known, not measured, or without meaning here.
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

inline constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
inline constexpr long double kExtendedEpsilon = std::numeric_limits<long double>::epsilon();

}  // namespace attractor
