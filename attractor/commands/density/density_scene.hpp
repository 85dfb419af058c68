// A density over time as a moving picture: a ring whose thickness is ln(1 + density / uniform), so
// that a desert and a crowd a thousand times as dense are both seen. On the circle every angle is
// itself; of a density with an axis the ring is a section through the axis, which points up.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "attractor/report/scene.hpp"

namespace attractor::lab {

struct DensityHistory {
  bool circle = true;                        // else polar angles from 0 to pi
  std::vector<double> angles{};              // ascending, radians
  std::vector<double> times{};               // ascending
  std::vector<std::vector<double>> density;  // one row for each time, relative to uniform
};

report::Scene density_scene(const DensityHistory& history);

/// Places that are more crowded than uniform, by at least a twentieth.
std::size_t crowds(std::span<const double> density, bool circle);

}  // namespace attractor::lab
