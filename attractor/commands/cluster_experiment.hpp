// `attractor cluster`: a user's own points, clustered by the modes of their kernel density
// (depth/mean_shift/mean_shift.hpp), in R^d or on the sphere. Labels and modes are outputs of the
// result, if asked for: labels are whole numbers from 0, the largest cluster first, stored as
// float64.
#pragma once

#include <cstdint>
#include <string>

#include "attractor/commands/result.hpp"

namespace attractor::lab {

enum class PointSpace { euclidean, sphere };
std::span<const std::string_view> names(PointSpace);

struct ClusterSetup {
  ArrayInput points;  // n x d
  PointSpace space = PointSpace::euclidean;
  std::optional<double> bandwidth{}, beta{};  // beta = bandwidth^-2: at most one of them
  std::optional<std::uint64_t> seeds = 2000;  // points that climb; none: all
  std::uint64_t seed = 0;
  double tolerance = 1e-6, merge = 0.1;
  std::uint64_t iterations = 10000;
  std::string labels_out, modes_out;  // names of .npy files
};

ParameterList list(ClusterSetup& p);
Result ask(const ClusterSetup& p, const Context& context);

}  // namespace attractor::lab
