#include "attractor/observe/hemisphere.hpp"

#include <algorithm>
#include <cassert>

#include "attractor/solve/min_norm_point.hpp"

namespace attractor::observe {

Hemisphere hemisphere(std::span<const double> tokens, std::size_t dim) {
  assert(dim > 0 && !tokens.empty() && tokens.size() % dim == 0);
  constexpr double kResolution = 1e-12;
  const solve::MinNormPoint nearest =
      solve::min_norm_point(tokens, dim, {.tolerance = kResolution});
  const double smallest = kResolution * nearest.scale;
  if (!(nearest.norm > smallest && nearest.smallest_product > smallest * nearest.norm))
    return {.decided = nearest.status == solve::MinNormStatus::optimal};
  Hemisphere found{.inside = true, .depth = nearest.smallest_product / nearest.norm};
  for (const double z : nearest.point) found.pole.push_back(z / nearest.norm);
  return found;
}

}  // namespace attractor::observe
