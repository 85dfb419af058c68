// `attractor stationary`: attention with noise, dX = drift dt + sqrt(2 kappa) dB, at rest. The
// states that noise and attention balance (noise/stationary.hpp), which of them are stable, and
// how order appears as noise falls: continuously at kappa_#, or by a jump at kappa_c
// (noise/bifurcation.hpp). If asked, n tokens on the circle sweep the noise up and down
// (noise/hysteresis.hpp). Milliseconds without particles.
#pragma once

#include <cstdint>
#include <string>

#include "attractor/commands/result.hpp"

namespace attractor::lab {

struct StationarySetup {
  Rule dynamics = Rule::unnormalised;
  std::uint64_t dim = 2;
  double beta = 4;
  std::optional<double> noise{}, noise_ratio{};  // one of them, or neither
  bool diagram = false;
  std::uint64_t particles = 0;  // 0: none
  std::uint64_t seed = 0;
  std::uint64_t sweep_steps = 8;
  double settle = 10, average = 20;
};

ParameterList list(StationarySetup& p);
Result ask(const StationarySetup& p, const Context& context);

}  // namespace attractor::lab
