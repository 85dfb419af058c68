#include "papers/limits/labelled_order.hpp"

#include <numbers>

#include "papers/flow_run.hpp"

namespace attractor::papers {

double labelled_order(Rule rule, double beta, double time, const Effort& effort) {
  FlowSetup p;
  p.init = Arrangement::circle;
  p.tokens = 256;
  p.mode = 1;
  p.amplitude = 0.5;
  p.phase = std::numbers::pi / 2;
  p.dim = 2;
  p.dynamics = rule;
  p.beta = beta;
  p.time = time;
  p.outputs = 1;
  p.tolerance = 1e-11;
  p.merge_radius = 0;
  return flow_of(p, effort).series.back().order_parameter;
}

}  // namespace attractor::papers
