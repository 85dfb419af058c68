// The branch of ordered states of noisy attention (stationary.hpp) and the transition on it. Near
// the uniform state
//
//   kappa / kappa_# - 1 = c R^2 + O(R^4),   with g = lambda_2/lambda_1, b = lambda_1/lambda_0 (SA;
//   USA: 0), c = d { (1-b)^2 (m/2) g/(1-g) + (b^2/3)(1+m) - (b/2) m + (m-2)/6 },   m = 2
//   (d-1)/(d+2).
//
// USA: c = d (d g - 1) / ((d+2)(1-g)), positive if and only if g = I_{d/2+1}/I_{d/2} > 1/d, that is
// beta > beta_*(d). Then the branch rises above kappa_#, turns at the fold (d kappa = 0), and
// between kappa_# and the fold the uniform and an ordered state are both stable; they have equal
// free energy at kappa_c, where the order jumps. Otherwise the order grows from 0 at kappa_c =
// kappa_#. The branch is followed by arc length. Cost: about 50 states.
#pragma once

#include <functional>
#include <optional>
#include <tuple>
#include <vector>

#include "attractor/noise/stationary.hpp"
#include "attractor/stability/stability.hpp"

namespace attractor::meanfield {

/// c above, at any beta; mode > 1 has the same form with its own eigenvalues.
double branch_curvature(const NoisyAttention& model);

struct Branch {
  std::vector<StationaryState> states;        // ascending in R
  std::optional<StationaryState> fold;        // the largest noise, if it is not kappa_#
  std::optional<StationaryState> transition;  // with a fold, USA: free energy equal to uniform
  /// Reached the noise asked for. If not: no state with R <= 1 - 1e-6 was found beyond the last
  /// one, or R turned back (unstable states in high dimension far above beta_*: a narrow crowd on a
  /// uniform background), where this description ends.
  bool complete = false;
  bool discontinuous() const { return fold.has_value(); }
};
inline auto fields(Branch& value) {
  auto& [states, fold, transition, complete] = value;
  return std::tie(states, fold, transition, complete);
}

/// From the uniform state down to kappa = least_ratio kappa_#.
Branch trace_branch(StationarySolver& solver, double least_ratio = 0.05);

/// Every ordered state of the branch at this noise, ascending in R.
std::vector<StationaryState> states_at(StationarySolver& solver, const Branch& branch,
                                       double noise_ratio);

/// What the transition does as beta grows; ratios to kappa_#, NaN where unknown.
struct TransitionPoint {
  double beta = 0;
  double log_critical_noise = 0;
  double fold_ratio = 1, fold_order = 0;
  double transition_ratio = 1, jump = 0;
};
TransitionPoint transition_point(const NoisyAttention& model, std::function<bool()> stop = {});

}  // namespace attractor::meanfield
