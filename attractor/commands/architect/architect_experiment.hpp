// `attractor architect`: will a model of this shape collapse, on which side of the long-context
// transition is it at each length, and what would help? From layers of tokens with equal or
// scattered cosines (reductions/equiangular_layers.hpp), the closed form of one long context
// (long_context.hpp) and one convention of beta (attention/logit_scale.hpp). Every verdict is given
// for beta and for beta off by its standard error; the beta at which it turns, with a band of 90 %
// (turning_band.hpp).
//
//   multiplier that keeps attention as it is from n_0 to n tokens:
//     ln n / ln n_0               all cosines about equal: whatever they are
//     (n / n_0)^{2 / (d_head-1)}  keys spread like independent uniform ones
//
// Milliseconds.
#pragma once

#include "attractor/commands/architect/architect_setup.hpp"
#include "attractor/commands/result.hpp"

namespace attractor::lab {

Result ask(const ArchitectSetup& p, const Context& context);

}  // namespace attractor::lab
