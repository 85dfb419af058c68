// Figures of `attractor meanfield`: density over angle and time, order parameter, free energy, and
// the distance of n tokens to the density.
#pragma once

#include <vector>

#include "attractor/commands/density/meanfield_record.hpp"
#include "attractor/commands/page.hpp"

namespace attractor::lab {

/// `comparison` without rows: tokens were not asked for.
std::vector<PageFigure> meanfield_figures(const MeanfieldSetup& p, const MeanfieldKind& kind,
                                          const MeanfieldRecord& record,
                                          const meanfield::Comparison& comparison);

/// F = kappa E ln(density) - energy, which unnormalised attention with noise lowers for ever. NaN
/// for softmax attention, which descends none in the Wasserstein metric.
double free_energy(const MeanfieldSetup& p, const MeanfieldMoment& moment);

}  // namespace attractor::lab
