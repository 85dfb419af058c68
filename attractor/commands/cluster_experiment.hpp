// `attractor cluster`: a user's own points, clustered by the modes of their kernel density
// (depth/mean_shift/mean_shift.hpp), in R^d or on the sphere. Labels and modes go to .npy files, if
// asked for: labels are whole numbers from 0, the largest cluster first, stored as float64.
#pragma once

#include <cstdint>
#include <string>

#include "attractor/commands/result.hpp"

namespace attractor::lab {

struct ClusterParameters {
  std::string points;
  std::string space = "euclidean";
  std::string bandwidth = "auto", beta;  // beta = bandwidth^-2: one of them
  std::string seeds = "2000";
  std::uint64_t seed = 0;
  double tolerance = 1e-6, merge = 0.1;
  std::uint64_t iterations = 10000;
  std::string labels_out, modes_out;
};

ParameterList list(ClusterParameters& p);
std::vector<std::string> input_files(const ClusterParameters& p);
Result ask(const ClusterParameters& p, const Context& context);

}  // namespace attractor::lab
