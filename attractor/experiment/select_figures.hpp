// The figures of a training run: keys and path in the plane, if attention has two effective
// coordinates; direction, norm, softmax and loss against time (of the flow: log10 t) or step;
// attention at telling moments; the regularisation path; and the basins of attraction.
// Cost: a few evaluations of the objective, O(outputs * weights) for velocities.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "attractor/experiment/page.hpp"
#include "attractor/experiment/select_record.hpp"

namespace attractor::experiment {

/// Those that the record has data for.
std::vector<PageFigure> select_figures(const SelectRecord& record);

/// What the record calls its attention weights: "p" or "W".
std::string attention_name(const SelectRecord& record);

/// Starts that end with each limit; the last: not settled.
std::vector<std::size_t> basin_counts(const training::Basins& basins);

/// "0 2 1"; of many inputs the first twelve and an ellipsis.
std::string token_list(std::span<const std::size_t> chosen);

}  // namespace attractor::experiment
