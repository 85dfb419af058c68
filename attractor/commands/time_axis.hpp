// An axis of time: linear where the times stay within a few hundred of each other, else by powers
// of ten. Times are given by log10, since they leave the range of a double; t = 0 is -infinity.
#pragma once

#include <span>
#include <vector>

#include "attractor/flow/time.hpp"
#include "attractor/report/figure.hpp"
#include "attractor/report/scene.hpp"

namespace attractor::lab {

struct TimeAxis {
  report::Axis axis;
  double exponent = 0;  // linear: the axis shows t / 10^exponent

  /// Where a time stands; t = 0 of a logarithmic axis is -infinity.
  double at(double log10) const;
  double at(const flow::Time& time) const;
};

/// From the first of the ascending times to the last.
TimeAxis time_axis(std::span<const double> log10_times);

/// Moments of a moving picture on such an axis.
report::SceneClock scene_clock(const TimeAxis& axis, std::span<const double> log10_times);

}  // namespace attractor::lab
