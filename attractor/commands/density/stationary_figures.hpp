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

std::vector<PageFigure> stationary_figures(const StationaryRecord& r);

}  // namespace attractor::lab
