// `attractor phase`: the phase diagram of attention, P(<x_i,x_j> >= threshold) over inverse
// temperature and time, from many small systems of tokens that start uniformly on the sphere
// (depth/batch_flow.hpp), beside the curve on which equiangular tokens reach the threshold
// (reductions/equiangular.hpp): with d >= n random tokens nearly are equiangular. The published
// scheme x <- normalise(x + h A) lags the flow by 6 to 10 % at h = 0.1; rk4 is the flow.
#pragma once

#include <cstdint>
#include <string>

#include "attractor/commands/result.hpp"
#include "attractor/depth/batch_flow.hpp"
#include "attractor/lab/number_list.hpp"

namespace attractor::lab {

struct PhaseSetup {
  Rule dynamics = Rule::softmax;
  std::uint64_t tokens = 32, dim = 2;
  Numbers beta = spaced_numbers(0.1, 9, 90);
  double time = 0;  // 0: 30, or 1 for usa
  std::uint64_t outputs = 200;
  depth::BatchMethod scheme = depth::BatchMethod::layers;
  double step = 0.1;
  std::uint64_t replicates = 256, seed = 0, first_replicate = 0;
  double threshold = 0.999;
};

ParameterList list(PhaseSetup& p);
Result ask(const PhaseSetup& p, const Context& context);

}  // namespace attractor::lab
