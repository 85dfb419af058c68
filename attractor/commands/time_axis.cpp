#include "attractor/commands/time_axis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "attractor/base/numbers.hpp"

namespace attractor::lab {

double TimeAxis::at(double log10) const {
  if (axis.scale == report::Scale::power) return log10;
  return log10 == -kInfinity ? 0 : std::pow(10, log10 - exponent);
}

double TimeAxis::at(const flow::Time& time) const { return at(time.log() / std::numbers::ln10); }

TimeAxis time_axis(std::span<const double> log10_times) {
  double low = kInfinity, high = -low;
  for (const double time : log10_times) {
    if (!std::isfinite(time)) continue;
    low = std::min(low, time);
    high = std::max(high, time);
  }
  TimeAxis result{.axis = {.label = "time t", .clock = "time"}};
  if (!(low <= high)) return result;
  if (high - low > 2.5) {
    result.axis.scale = report::Scale::power;
    result.axis.low = low;
    result.axis.high = high + 0.01 * (high - low);
    return result;
  }
  if (high < -3 || high >= 4) {
    result.exponent = std::floor(high);
    result.axis.label = fmt::format("time t / 10^{{{:.0f}}}", result.exponent);
  }
  result.axis.low = result.at(log10_times.front());
  result.axis.high = result.at(high);
  return result;
}

report::SceneClock scene_clock(const TimeAxis& axis, std::span<const double> log10_times) {
  report::SceneClock clock{.name = axis.axis.clock, .at = {}};
  for (const double time : log10_times) {
    const double at = axis.at(time);
    clock.at.push_back(std::isfinite(at) ? at : kNan);
  }
  return clock;
}

}  // namespace attractor::lab
