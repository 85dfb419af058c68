// The two pictures of training in the plane: keys, max-margin rays and the path of p, if attention
// has two effective coordinates; and the basins of attraction.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attractor/commands/page.hpp"
#include "attractor/lab/select/select_record.hpp"
#include "attractor/training/objective.hpp"

namespace attractor::lab {

using PlanePoint = std::array<double, 2>;

/// The plane that all differences of keys lie in.
struct KeyPlane {
  std::array<std::vector<double>, 2> axis;
  std::array<std::string, 2> name;  // of the coordinates
  std::vector<double> keys;         // n x T x d

  PlanePoint of(std::span<const double> x) const;
};

/// If p is trained and there is such a plane.
std::optional<KeyPlane> plane_of(const SelectRecord& record);

/// Square ranges around points and the origin, a share of `room` wider.
void frame_points(Axis& x, Axis& y, const std::vector<PlanePoint>& points, double room);

std::optional<PageFigure> plane_figure(const SelectRecord& record,
                                       const training::Objective& objective);
std::optional<PageFigure> basin_figure(const SelectRecord& record);

}  // namespace attractor::lab
