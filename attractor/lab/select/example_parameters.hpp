// The sizes and contents of training examples (training/examples.hpp) as parameters, for `attractor
// problem` and for a problem that is named instead of read:
//
//   example:NAME                         the example as it is
//   example:multi,inputs=6,noise=0.1     with some of the parameters of `attractor problem`
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attractor/lab/parameter.hpp"
#include "attractor/training/examples.hpp"

namespace attractor::lab {

ParameterList list(training::ExampleOptions& options);

/// A problem file, from `directory` if its name is relative (empty: as it is), or an example; one
/// that names no seed takes `seed`. Throws Error.
training::Problem load_problem(const std::string& data, const std::string& directory,
                               std::uint64_t seed);

/// The file that load_problem() reads: none for an example.
std::vector<std::string> problem_files(const std::string& data);

}  // namespace attractor::lab
