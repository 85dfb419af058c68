// The moving picture of a run, made anew from its result.h5: of flow, select, bridge and meanfield.
// All moments of a flow, evenly as its snapshots are.
#pragma once

#include <filesystem>

#include "attractor/report/scene.hpp"

namespace attractor::lab {

/// A run directory or its result.h5. Throws Error naming the file and what is wrong in it.
report::Scene read_scene(const std::filesystem::path& run);

}  // namespace attractor::lab
