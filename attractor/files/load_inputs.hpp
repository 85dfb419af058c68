// The files that parameters name, loaded into the setup they are bound to: arrays, problems, runs.
#pragma once

#include <string>
#include <vector>

#include "attractor/lab/parameter.hpp"

namespace attractor::lab {

/// As the parameters name them.
std::vector<std::string> input_files(const ParameterList& list);

/// Relative names are meant from `directory` (empty: as they are). What a program has put in is
/// left alone. Throws Error naming the file and what is wrong.
void load_inputs(const ParameterList& list, const std::string& directory);

}  // namespace attractor::lab
