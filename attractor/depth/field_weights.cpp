#include "attractor/depth/field_weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attractor/base/error.hpp"

namespace attractor::depth {

std::vector<double> checked_weights(std::vector<double> weights) {
  double largest = 0;
  for (double w : weights) {
    if (!(w > 0 && std::isfinite(w)))
      throw Error(fmt::format("weight = {} is not allowed; allowed: positive and finite", w));
    largest = std::max(largest, w);
  }
  for (double& w : weights) w /= largest;
  return weights;
}

}  // namespace attractor::depth
