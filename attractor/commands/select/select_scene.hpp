// Training as a moving picture: the attention that every token gets, as the size of its dot. Where
// keys lie in a plane, dots stand at the keys, an arrow is p (its length |p| / (1 + |p|), so that
// it grows for ever within the picture) and dashed lines are max-margin directions; else dots stand
// in rows, one for each input.
#pragma once

#include <optional>

#include "attractor/lab/select/select_record.hpp"
#include "attractor/report/scene.hpp"

namespace attractor::lab {

/// Attention was trained, and its way is known.
bool has_scene(const SelectRecord& record);

/// Of problem, setup, series, trajectory, selected tokens and max-margin solutions; none if
/// has_scene() is false.
std::optional<report::Scene> select_scene(const SelectRecord& record);

}  // namespace attractor::lab
