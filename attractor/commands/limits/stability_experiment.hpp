// `attractor stability`: growth of every mode of uniformly spread tokens, the number of clusters
// that linear theory predicts, and, if asked, the number that tokens make (meanfield/stability.hpp,
// meanfield/cluster_count.hpp).
#pragma once

#include "attractor/experiment/result.hpp"
#include "attractor/experiment/stability_parameters.hpp"

namespace attractor::experiment {

ParameterList list(StabilityParameters& p);

Result ask(const StabilityParameters& p, const Context& context);

}  // namespace attractor::experiment
