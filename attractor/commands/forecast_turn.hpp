// The inverse temperature at which a verdict over depth turns. Attention at larger beta looks at
// itself more and mixes less, so a stack that collapses at one beta keeps its tokens apart at
// another; between them lies the beta that a designer has to stay away from.
#pragma once

#include <functional>
#include <optional>

namespace attractor::lab {

/// Where verdict(beta) changes: the change nearest to `beta` by their ratio, to rounding; none
/// from 1e-6 to 1e6. Looks at beta / 2^k and beta 2^k, so that two changes within a factor of two
/// may hide each other; collapse over depth falls with beta, so there is one
/// (forecast_turn_test.cpp). About 80 calls.
std::optional<double> turning_beta(const std::function<bool(double)>& verdict, double beta);

}  // namespace attractor::lab
