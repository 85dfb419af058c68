// What a linearly implicit method solves with in all stages of a step,
//
//   W = 1/gamma - h J,      J the Jacobian of the drift where the step begins.
//
// J is found once for all attempts from a state (the flow's own cost; two drifts a dimension where
// it takes differences), W is factored once for each: dim^3 / 3 multiply-adds.
//
// Differences know J to 1e-10 of its largest entry, and h times that error is a rate which slow
// directions do not have: steps are held below 10^8 / |J|.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "attractor/flow/flow.hpp"

namespace attractor {
class Lu;
}

namespace attractor::flow {

class ImplicitMatrix {
 public:
  /// The longest step from this state; 0 where the drift has no finite derivative that the flow
  /// knows.
  double longest_step(const Flow& flow, std::span<const double> state, double log_unit);
  /// For a step of h from the state whose longest_step() was asked for.
  void set(double h, double gamma);
  /// k <- W^-1 k.
  void solve(std::span<double> k) const;
  /// The state or the unit is another one.
  void forget() { known_ = false; }

 private:
  bool known_ = false;
  double longest_ = 0;
  std::vector<double> jacobian_;  // row by row
  std::shared_ptr<const Lu> factors_;
};

}  // namespace attractor::flow
