// The range of an axis and where its ticks stand: at round numbers, as many as fit without touching
// each other.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "attractor/report/figure.hpp"

namespace attractor::report {

struct Range {
  double low, high;
};

/// A value that can be drawn on this axis.
bool drawable(double value, const Axis& axis);

/// As given, or around the data; never empty. values: &Series::x or &Series::y.
Range axis_range(const Panel& panel, const Axis& axis, std::vector<double> Series::*values);

/// 0 at the lower end of the range, 1 at the upper one.
double share_of(double value, const Axis& axis, const Range& range);

struct Tick {
  double at = 0;        // on the axis
  std::string label{};  // markup
};

/// The most ticks of which `fits` says that they can stand side by side; at least the coarsest. If
/// no ticks are asked for, none.
std::vector<Tick> ticks(const Axis& axis, const Range& range,
                        const std::function<bool(const std::vector<Tick>&)>& fits);

}  // namespace attractor::report
