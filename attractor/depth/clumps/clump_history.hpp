// How a flow with engine clumps was summed so far: what a resumed run knows too.
#pragma once

#include <cstdint>

namespace attractor::depth {

struct ClumpHistory {
  std::uint64_t steps_by_rows = 0;  // rows of all pairs were quicker
  double error = 0;                 // the largest bound of the error of a velocity, of all steps
  bool operator==(const ClumpHistory&) const = default;
};

}  // namespace attractor::depth
