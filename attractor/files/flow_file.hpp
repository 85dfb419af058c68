// The flow that a run directory or its result.h5 holds: snapshots, sizes and space, all that
// pictures of it need.
#pragma once

#include <filesystem>

#include "attractor/lab/flow/flow_record.hpp"

namespace attractor::lab {

/// Throws Error naming the file and what is wrong in it.
FlowRecord read_flow(const std::filesystem::path& run);

}  // namespace attractor::lab
