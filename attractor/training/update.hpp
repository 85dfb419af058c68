// How a gradient method moves the weights; descent_flow.hpp and averaged_gradient.hpp have the
// formulas.
#pragma once

namespace attractor::training {

enum class Update { gradient, normalised, published, polyak, adam, sign, muon };

/// Rules that rescale an average of past gradients, entry by entry or as a matrix.
constexpr bool averages_gradients(Update rule) {
  return rule == Update::adam || rule == Update::sign || rule == Update::muon;
}

}  // namespace attractor::training
