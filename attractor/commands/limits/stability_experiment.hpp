// `attractor stability`: growth of every mode of uniformly spread tokens, the number of clusters
// that linear theory predicts, and, if asked, the number that tokens make (stability/stability.hpp,
// mean_field/cluster_count.hpp).
#pragma once

#include "attractor/commands/limits/stability_setup.hpp"
#include "attractor/commands/result.hpp"

namespace attractor::lab {

ParameterList list(StabilitySetup& p);

Result ask(const StabilitySetup& p, const Context& context);

}  // namespace attractor::lab
