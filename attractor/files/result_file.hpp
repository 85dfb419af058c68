// A result as files: the arrays in HDF5. Bytes depend on the parameters only.
#pragma once

#include <filesystem>

#include "attractor/commands/result.hpp"
#include "attractor/report/collected_arrays.hpp"

namespace attractor::lab {

void write_arrays(const Result& answer, const Call& call, const std::filesystem::path& file);

/// All numbers of such a file, floats as doubles and integers as int64_t, and its format, which is
/// an attribute of "/".
CollectedArrays read_result_arrays(const std::filesystem::path& file);

}  // namespace attractor::lab
