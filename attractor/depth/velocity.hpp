// Velocities of tokens at one moment: what the flows of this folder integrate, as a call.
//
//   x_i' = P_i A_i(x),   A the attention map (attention/attention.hpp), P_i the tangent projection
//
// by rows of all pairs or, with identity weights on the sphere, by the engines in O(n) or over
// clumps (engines.hpp). Tokens may have masses. Nothing is copied: tokens are read where they are,
// and the velocities written where they are wanted.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "attractor/depth/engines.hpp"

namespace attractor::depth {

struct VelocityTask {
  Attention attention{};
  std::optional<Engine> engine{};        // none: the fastest
  double accuracy = 1e-11;               // of the engines in O(n) and of clumps
  Precision precision = Precision::f64;  // of dense rows
  double log_unit = 0;                   // per unit of time e^log_unit
};

/// tokens, out: n x dim; on the sphere tokens have length 1. masses: n positive numbers, or none
/// for equal ones. Returns the engine that summed (dense where clumps
/// would have taken longer); throws Error if the one asked for cannot.
Engine velocity(const VelocityTask& task, std::span<const double> tokens,
                std::span<const double> masses, std::span<double> out);

}  // namespace attractor::depth
