// A result as files: the arrays in HDF5. Bytes depend on the parameters only.
#pragma once

#include <filesystem>

#include "attractor/commands/result.hpp"

namespace attractor::lab {

void write_arrays(const Result& answer, const Call& call, const std::filesystem::path& file);

}  // namespace attractor::lab
