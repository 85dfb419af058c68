// The figures of a training run: keys and path in the plane, if attention has two effective
// coordinates; direction, norm, softmax and loss against time (of the flow: log10 t) or step;
// attention at telling moments; the regularisation path; and the basins of attraction.
// Cost: a few evaluations of the objective, O(outputs * weights) for velocities.
#pragma once

#include <vector>

#include "attractor/commands/page.hpp"
#include "attractor/lab/select/select_record.hpp"

namespace attractor::lab {

/// Those that the record has data for.
std::vector<PageFigure> select_figures(const SelectRecord& record);

}  // namespace attractor::lab
