// Parameters in TOML files: `--config`, and the run.toml of a run directory.
#pragma once

#include <string>

#include "attractor/lab/parameter.hpp"

namespace attractor::lab {

/// Sets every key of the file; throws Error on a syntax error, an unknown key or a bad value. The
/// key `started-in` (written by run directories) is returned: relative files are meant from there.
std::string set_from_toml(const ParameterList& list, const std::string& file);

}  // namespace attractor::lab
