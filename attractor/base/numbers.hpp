// Numbers that are none, and what has no end.
#pragma once

#include <limits>

namespace attractor {

/// Not known, not measured, or without meaning here.
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace attractor
