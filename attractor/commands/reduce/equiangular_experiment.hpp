// `attractor reduce equiangular`: tokens with one common cosine, solved exactly
// (reductions/equiangular.hpp), for any number of tokens, any time and every normalisation scheme;
// or through discrete layers (reductions/equiangular_layers.hpp). Answers with the cosine, its gap
// to 1 and the norm at the moment asked for, when levels are passed, the half-collapse time, and
// how all that changes with beta and the number of tokens. Milliseconds.
#pragma once

#include <cstdint>
#include <string>

#include "attractor/attention/normalisation.hpp"
#include "attractor/attention/rule.hpp"
#include "attractor/commands/result.hpp"
#include "attractor/reductions/equiangular.hpp"

namespace attractor::lab {

struct EquiangularSetup {
  Rule dynamics = Rule::softmax;
  Normalisation norm = Normalisation::post;
  double tokens = 64, beta = 1, cosine0 = 0;
  double time = 1;
  std::optional<double> log10_time{};  // instead of time, if given
  double alpha = 1, switch_time = 1, deepnorm_scale = 1;
  Numbers levels = {0.5, 0.9, 0.99, 0.999};
  std::uint64_t layers = 0;  // 0: the flow
  double step = 1;
};

ParameterList list(EquiangularSetup& p);
/// What it asks to be solved.
meanfield::Equiangular problem_of(const EquiangularSetup& p);
/// Throws Error on options that have no effect together; a value that differs from its default
/// counts as given.
void check(const EquiangularSetup& p);
Result ask(const EquiangularSetup& p, const Context& context);

}  // namespace attractor::lab
