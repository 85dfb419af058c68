// `attractor reduce pair`: two clusters, when they merge and where they are at a given time, next
// to the large-beta formula e^{c beta} / (beta sin^2 delta M) (reductions/cluster_pair.hpp). Exact
// at any beta: times that no double holds are given by their logarithm.
#pragma once

#include <string>

#include "attractor/commands/result.hpp"

namespace attractor::lab {

struct PairSetup {
  Rule dynamics = Rule::softmax;
  double beta = 4;
  std::optional<double> angle, degrees;  // one of them, or neither: 90 degrees
  double mass1 = 0.5, mass2 = 0.5;
  double merge_cosine = 0.999;
  std::optional<double> time, log10_time;  // at most one of them
};

ParameterList list(PairSetup& p);
Result ask(const PairSetup& p, const Context& context);

/// e^log_value, or null where that is no double.
Json number_of_log(double log_value);

}  // namespace attractor::lab
