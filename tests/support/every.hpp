// Every so manieth number below a count: the targets that a direct sum is asked for.
#pragma once

#include <cstddef>
#include <vector>

namespace attractor {

inline std::vector<std::size_t> every(std::size_t stride, std::size_t count) {
  std::vector<std::size_t> targets;
  for (std::size_t i = 0; i < count; i += stride) targets.push_back(i);
  return targets;
}

}  // namespace attractor
