// Numbers that are none, what has no end, and the distance from one to the next.
#pragma once

#include <limits>

namespace attractor {

/// Not known, not measured, or without meaning here.
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

inline constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
inline constexpr long double kExtendedEpsilon = std::numeric_limits<long double>::epsilon();
/// Of powers and exponentials of long doubles. Where these have 113 bits (WebAssembly) the library
/// computes such functions with doubles.
inline constexpr long double kExtendedPowerEpsilon = std::numeric_limits<long double>::digits == 64
                                                         ? kExtendedEpsilon
                                                         : std::numeric_limits<double>::epsilon();

}  // namespace attractor
