// Tokens on the sphere in d = 3 .. 8 dimensions in O(n) an evaluation, moderate beta: the flow of
// field_flow.hpp by power moments of all tokens (kernels/moments/power_moments.hpp). Error of a
// velocity in the natural unit: at most `accuracy`, 1e-11 .. 1e-4, SA too, as long as that can be
// reached where tokens are loneliest; speed_error() says what was. The error is a smooth function
// of the place.
#pragma once

#include "attractor/depth/field_flow.hpp"

namespace attractor::depth {

using MomentsFlow = FieldFlow<kernels::PowerMoments>;

/// What a velocity of each of so many tokens would take.
inline kernels::PowerMomentsCost moments_cost(const FieldFlowSettings& s, std::size_t tokens) {
  return kernels::power_moments_cost({.dim = s.dim,
                                      .beta = s.beta,
                                      .accuracy = s.accuracy,
                                      .means = s.rule == Rule::softmax,
                                      .tokens = tokens});
}

}  // namespace attractor::depth
