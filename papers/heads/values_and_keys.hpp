// One input whose tokens have their values in coordinates 0 and 1 and their keys in 2 and 3, so
// that a head can be chosen apart from what attention sees.
#pragma once

#include <array>
#include <span>

#include "attractor/training/problem.hpp"

namespace attractor::papers {

training::Problem values_and_keys(std::span<const std::array<double, 4>> tokens,
                                  training::Head head);

}  // namespace attractor::papers
