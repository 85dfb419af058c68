// `attractor stability`: growth of every mode of uniformly spread tokens, the number of clusters
// that linear theory predicts, and, if asked, the number that tokens make (meanfield/stability.hpp,
// meanfield/cluster_count.hpp).
#pragma once

#include "attractor/experiment/answer.hpp"
#include "attractor/experiment/stability_parameters.hpp"

namespace attractor::experiment {

ParameterList list(StabilityParameters& p);

Answer ask(const StabilityParameters& p, const AskContext& context);

}  // namespace attractor::experiment
