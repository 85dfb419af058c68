#include "attractor/observe/leaders.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attractor/base/error.hpp"
#include "attractor/space/space.hpp"

namespace attractor::observe {

Leaders leaders(std::span<const double> tokens, std::size_t dim, double radius) {
  if (dim == 0 || tokens.size() % dim != 0)
    throw Error(fmt::format("{} coordinates are no tokens of dimension {}", tokens.size(), dim));
  if (!(radius >= 0) || std::isinf(radius))
    throw Error(fmt::format("radius = {} is not allowed; at least 0 and finite", radius));
  const auto far = [&](std::size_t i, std::size_t j) {
    return squared_distance(tokens.subspan(i * dim, dim), tokens.subspan(j * dim, dim)) >
           radius * radius;
  };
  Leaders found;
  for (std::size_t k = 0; k < tokens.size() / dim; ++k) {
    if (!std::all_of(found.centres.begin(), found.centres.end(),
                     [&](std::uint32_t j) { return far(k, j); }))
      continue;
    found.centres.push_back(static_cast<std::uint32_t>(k));
    bool strong = true;
    for (std::size_t j = 0; j < k && strong; ++j) strong = far(k, j);
    if (strong) found.strong.push_back(static_cast<std::uint32_t>(k));
  }
  return found;
}

}  // namespace attractor::observe
