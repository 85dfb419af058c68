// The parameters of `attractor stability`.
#pragma once

#include <cstdint>

#include "attractor/attention/rule.hpp"

namespace attractor::lab {

struct StabilitySetup {
  Rule dynamics = Rule::softmax;
  std::uint64_t dim = 2;
  double beta = 1, noise = 0;
  std::uint64_t modes = 0;    // 0: until rates are negligible, at most 200
  std::uint64_t observe = 0;  // tokens; 0: theory only
  std::uint64_t replicates = 4, seed = 0;
  double horizon = 20;  // e-foldings of the fastest mode
  double time = 0;      // 0: count when clusters have formed
};

}  // namespace attractor::lab
