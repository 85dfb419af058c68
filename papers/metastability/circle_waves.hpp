// Tokens on the circle as a density: their angles, and waves that grow or decay.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "papers/flow_run.hpp"

namespace attractor::papers {

std::vector<double> angles_of(std::span<const double> positions);
/// ln of the growth of |mean e^{ik theta}| per unit of time, tokens on the circle.
double wave_growth(const FlowRecord& record, std::uint64_t k);

/// Density of angles times 2 pi, over degrees.
report::Series angle_density(std::span<const double> angles, std::size_t bins);

}  // namespace attractor::papers
