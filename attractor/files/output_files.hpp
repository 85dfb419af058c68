// Arrays that a command was asked to write by name (Result::outputs).
#pragma once

#include <string>

#include "attractor/commands/result.hpp"

namespace attractor::lab {

/// Before hours of work: the files can be written, and none is an input or another output.
void require_outputs(const ParameterList& list, const std::string& directory);

void write_outputs(const Result& result, const std::string& directory);

}  // namespace attractor::lab
