// Tokens moved by any architecture from any start: no words, no files, nothing observed.
#pragma once

#include <cstdint>
#include <vector>

#include "attractor/depth/layer_flow.hpp"
#include "attractor/flow/tableau.hpp"
#include "papers/entry.hpp"

namespace attractor::papers {

struct Walk {
  depth::Architecture architecture{};
  std::vector<double> tokens{};  // n x dim
  std::vector<double> times{};   // ascending; of fixed steps: whole numbers of them
  flow::Method stepper = flow::Method::adaptive;
  double step = 0.1, tolerance = 1e-9;
  std::uint64_t max_steps = 10'000'000;
};

/// The tokens at each time. Throws Error if the end is not reached for another reason than a stop;
/// if `reached` is given, too many steps are none: it tells when they ended, and times after that
/// have the tokens of then.
std::vector<std::vector<double>> states_of(const Walk& walk, const Effort& effort,
                                           double* reached = nullptr);

}  // namespace attractor::papers
