// Training problems in files. The content decides what a file is, not its name:
//
//   X [n][T][d], Y [n], v [h]                  needed; h = d unless the head has a U
//   W [d][d], z [n][d], p0 [d], K, Q [d][r]    left out: identity, the prompt, zero, none
//   head/U [h][d], head/b [h], head/lambda, head/activation     left out: the linear head
//
//   JSON       {"X": [[[...]]], ..., "head": {"U": ..., "lambda": 0.1, "activation": "relu"}}
//   HDF5       datasets of these names; a group head has the attributes activation (a text) and
//              lambda (a number; a scalar dataset head/lambda will do)
//   directory  X.npy, ..., head_U.npy, head_b.npy, head_lambda.npy, and head_activation.txt
//
// Other names are ignored, because records carry more, unless they differ in case only ("x" for X).
// JSON is read without building its tree: beside the text (up to 4 GiB) there is one copy of the
// numbers. Reading a number takes about 0.3 us as JSON, 0.01 us otherwise.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "attractor/base/array.hpp"
#include "attractor/training/problem.hpp"

namespace attractor::training {

/// Checked (problem.hpp); throws Error naming the file and what is wrong.
Problem read_problem(const std::string& file);
Problem parse_problem(const std::string& json, const std::string& name);

/// The arrays of a problem by the names above, where no file is: head/lambda is a single number.
struct ProblemArrays {
  std::map<std::string, Array> arrays{};
  std::string activation = "identity";  // of the head
};
/// Other names are refused. `name` is used in messages.
Problem problem_of(const ProblemArrays& given, const std::string& name);
ProblemArrays arrays_of(const Problem& problem);

/// Shortest digits that give the same doubles; parse_problem returns the same bits.
std::string to_json(const Problem& problem);
/// The ending decides: .json, .h5, .hdf5, or / for a directory of .npy files, which must be new or
/// empty. Whole or not at all.
void write_problem(const Problem& problem, const std::filesystem::path& target);

}  // namespace attractor::training
