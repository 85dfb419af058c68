// The figures of `attractor stationary`.
#pragma once

#include <optional>
#include <vector>

#include "attractor/commands/page.hpp"
#include "attractor/noise/bifurcation.hpp"
#include "attractor/noise/hysteresis.hpp"

namespace attractor::lab {

struct StationaryRecord {
  meanfield::NoisyAttention model;
  meanfield::Branch branch;
  std::optional<double> noise_ratio;                // asked for
  std::vector<meanfield::StationaryState> states;   // ordered ones at that noise
  std::vector<std::vector<double>> densities;       // of them, at angles evenly from 0 to pi
  std::vector<meanfield::TransitionPoint> diagram;  // ascending in beta
  meanfield::Hysteresis sweep;
};

/// The branch as it is drawn: from the uniform state on, with states put between those that were
/// found until the line bends nowhere by more than a pixel. Stable and unstable parts meet at the
/// fold.
std::vector<meanfield::StationaryState> smooth_branch(meanfield::StationarySolver& solver,
                                                      const meanfield::Branch& branch);

std::vector<PageFigure> stationary_figures(const StationaryRecord& r);

}  // namespace attractor::lab
