// The two pictures of training in the plane: keys, max-margin rays and the path of p, if attention
// has two effective coordinates; and the basins of attraction.
#pragma once

#include <optional>

#include "attractor/commands/page.hpp"
#include "attractor/lab/select/select_record.hpp"
#include "attractor/training/objective.hpp"

namespace attractor::lab {

std::optional<PageFigure> plane_figure(const SelectRecord& record,
                                       const training::Objective& objective);
std::optional<PageFigure> basin_figure(const SelectRecord& record);

}  // namespace attractor::lab
