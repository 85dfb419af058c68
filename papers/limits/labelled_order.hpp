// The mean field in its labels: theta(u) = 2 pi u + sin(2 pi u)/2 at u = (i + 1/2)/256. Sums over
// labels are trapezoid rules of a smooth density, exact to 1e-12.
#pragma once

#include "attractor/attention/rule.hpp"
#include "papers/entry.hpp"

namespace attractor::papers {

/// Order parameter at this time, tokens moved by the attention kernel.
double labelled_order(Rule rule, double beta, double time, const Effort& effort);

}  // namespace attractor::papers
