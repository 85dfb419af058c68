// `attractor compare`: how far two runs of `attractor flow` are apart, snapshot by snapshot. Two
// starts under the same weights and noise (a coupling) contract or do not; token i of one run is
// compared with token i of the other, and as sets: Wasserstein-1 on the circle, distance of means
// in any dimension. Where both runs have lengths of tokens they count. A file with a number that is
// not finite is refused.
#pragma once

#include <string>

#include "attractor/commands/result.hpp"

namespace attractor::lab {

struct CompareSetup {
  RunInput first, second;  // two runs of flow
};

ParameterList list(CompareSetup& p);
Result ask(const CompareSetup& p, const Context& context);

}  // namespace attractor::lab
