// When a flow is looked at: evenly many times, linear or logarithmic, from 0 to the end.
#pragma once

#include <cstdint>
#include <vector>

#include "attractor/flow/time.hpp"

namespace attractor::lab {

std::vector<flow::Time> linear_times(const flow::Time& end, std::uint64_t count);
/// 0, then evenly in ln t, from a hundredth of the unit (or a thousandth of the end) on.
std::vector<flow::Time> log_times(const flow::Time& end, std::uint64_t count, double log_unit);
/// Of these the ones that layers have: whole numbers of steps, each once.
std::vector<flow::Time> at_layers(const std::vector<flow::Time>& times, double step);

}  // namespace attractor::lab
