// `attractor stability`: growth of every mode of uniformly spread tokens, the number of clusters
// that linear theory predicts, and, if asked, the number that tokens make (meanfield/stability.hpp,
// meanfield/cluster_count.hpp).
#pragma once

#include <cstdint>
#include <string>

#include "attractor/experiment/answer.hpp"

namespace attractor::experiment {

struct StabilityParameters {
  std::string dynamics = "sa";
  std::uint64_t dim = 2;
  double beta = 1, noise = 0;
  std::uint64_t modes = 0;    // 0: until rates are negligible, at most 200
  std::uint64_t observe = 0;  // tokens; 0: theory only
  std::uint64_t replicates = 4, seed = 0;
  double horizon = 20;  // e-foldings of the fastest mode
  double time = 0;      // 0: count when clusters have formed
};

ParameterList list(StabilityParameters& p);

Answer ask(const StabilityParameters& p, const AskContext& context);

}  // namespace attractor::experiment
