// The sets of vector instructions the kernels are compiled for and this processor has: a test runs
// on each of them.
#pragma once

#include <hwy/targets.h>

#include <cstdint>
#include <vector>

namespace attractor {

inline std::vector<std::int64_t> every_target() {
  std::vector<std::int64_t> targets;
  for (std::int64_t left = hwy::SupportedTargets() & HWY_TARGETS; left != 0; left &= left - 1)
    targets.push_back(left & -left);
  return targets;
}

}  // namespace attractor
