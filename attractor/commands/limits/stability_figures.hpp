// Figures of `attractor stability`: growth against mode, the fastest mode against beta, and the
// clusters of tokens against time.
#pragma once

#include <cstddef>
#include <vector>

#include "attractor/commands/limits/stability_setup.hpp"
#include "attractor/commands/page.hpp"
#include "attractor/mean_field/cluster_count.hpp"
#include "attractor/stability/stability.hpp"

namespace attractor::lab {

meanfield::UniformState state_of(const StabilitySetup& p);

/// The last degree whose growth without noise is above `share` of the largest.
std::size_t last_mode(const StabilitySetup& p, double share);

/// `runs` of tokens may be empty.
std::vector<PageFigure> stability_figures(const StabilitySetup& p,
                                          const std::vector<meanfield::ClusterHistory>& runs);

}  // namespace attractor::lab
