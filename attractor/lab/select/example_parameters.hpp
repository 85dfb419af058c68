// The sizes and contents of training examples (training/examples.hpp) as parameters, for `attractor
// problem` and for a problem that is named instead of read:
//
//   example:NAME                         the example as it is
//   example:multi,inputs=6,noise=0.1     with some of the parameters of `attractor problem`
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attractor/lab/json.hpp"
#include "attractor/lab/parameter.hpp"
#include "attractor/training/examples.hpp"

namespace attractor::lab {

ParameterList list(training::ExampleOptions& options);

/// Of every example its name, what it is, and its usual numbers of inputs, tokens and dimensions.
Json described_examples();

bool is_example(const std::string& name);

/// The problem that was given, or the example that is named; one that names no seed takes `seed`.
/// Throws Error.
training::Problem problem_of(const ProblemInput& data, std::uint64_t seed);

}  // namespace attractor::lab
