// `attractor context`: one attention layer (or a stack) on a long context, beta = gamma ln n. What
// attention does to n tokens of common cosine rho, in which phase it is, what other context lengths
// and recipes of logit scaling would do, and tokens drawn at random to check it
// (long_context/long_context.hpp, context_simulation.hpp, context_advice.hpp). O(1) without
// --simulate.
#pragma once

#include <cstdint>
#include <optional>

#include "attractor/commands/result.hpp"
#include "attractor/lab/parameter.hpp"

namespace attractor::lab {

struct ContextSetup {
  double tokens = 1e6;
  double rho = 0.5;
  double gamma = 2;
  double residual = 0;
  std::uint64_t layers = 1;
  double dim = 0;  // 0: n for the backward norm, 512 in a simulation
  bool map = false;

  bool advise = false;
  double trained_tokens = 8192;
  std::optional<double> trained_beta{};  // of the model as trained: is it critical there?

  bool simulate = false, exact = false;
  std::uint64_t rows = 64, replicates = 8, seed = 0;
};

ParameterList list(ContextSetup& parameters);

/// Throws Error on options that have no effect together; a value that differs from its default
/// counts as given.
void check(const ContextSetup& parameters);

/// Checks; throws Error on values that are not allowed.
Result ask(const ContextSetup& parameters, const Context& context);

}  // namespace attractor::lab
