// `attractor forecast`: how fast attention alone makes tokens alike over the depth of a model, for
// every normalisation scheme. Tokens start with the common cosine rho0; each layer is computed
// exactly as the architecture does (reductions/equiangular_layers.hpp), and its limit of thin
// layers, the flow, is given beside it. No feed-forward blocks, no learned values: what is seen is
// the pull that a trained model has to work against. Milliseconds.
#pragma once

#include <cstdint>
#include <string>

#include "attractor/attention/normalisation.hpp"
#include "attractor/commands/result.hpp"
#include "attractor/reductions/equiangular.hpp"

namespace attractor::lab {

struct ForecastSetup {
  std::uint64_t depth = 96;
  Normalisation norm = Normalisation::pre;
  double beta = 8, tokens = 8192, rho0 = 0.1;
  double step = 1;
  Numbers levels = {0.5, 0.9, 0.99};
  double alpha = 0.25;
  std::uint64_t switch_layer = 0;  // 0: a quarter of the depth
  double deepnorm_scale = 0;       // 0: (2 depth)^{1/4}
};

/// The stack that is asked for, with a scheme of its own choice; throws Error.
meanfield::Equiangular stack_of(const ForecastSetup& p, Normalisation norm);

ParameterList list(ForecastSetup& p);
Result ask(const ForecastSetup& p, const Context& context);

}  // namespace attractor::lab
