// What coalescence displaces tokens by, as one vector for each token of the state.
//
// Replacing members c + xi_i by one token at c changes every velocity by the second order of xi:
// D = v(after) - v(before), for the token itself v(c) minus the mean of its members. That change
// decays like e^{-2at}, a the contraction rate of the group, so it displaces tokens by D / 2a.
// Afterwards the displacement goes with the flow: s(t) is carried as the difference of two steps,
// from x and from x + e s, so that what approaches a cluster or leaves a saddle amplifies it as it
// does any perturbation. What of it lies along the velocity is a delay t, s = t v + rest: the flow
// conserves t, so that clusters which speed up by e^{c beta} before they join, and stop, do not
// leave the sum of two huge terms. Above kMostShifted tokens the shift is kept as it is. D / 2a is
// itself an estimate, and where groups join, the shifts of their members may cancel in it but not
// in truth: each is taken once or three times, at random, so that such sums keep the size of their
// uncertainty.
//
// The members follow c by a linear equation; v_i - v_c - J xi_i is what that leaves out, and
// contraction makes of it a relative error of |v_i - v_c - J xi_i| / (a |xi|) of the offsets.
// Cost: two velocities for each coalescence, seven for each step.
#pragma once

#include <span>
#include <vector>

#include "attractor/attention/attention.hpp"
#include "attractor/depth/token_flow.hpp"
#include "attractor/flow/flow.hpp"
#include "attractor/flow/stepper.hpp"

namespace attractor::depth {

inline constexpr std::size_t kMostShifted = 256;    // tokens whose shift is carried
inline constexpr std::size_t kMostMeasured = 4096;  // tokens whose velocities are compared

/// `attention` is what moves the tokens of `flow`. Replaces the groups in the state and in the book
/// of the flow, and counts what that commits.
void coalesce_counted(TokenFlow& flow, const Attention& attention, std::vector<Group> groups,
                      const flow::Time& now, std::vector<double>& state);

/// Brings the shift of the flow's tokens to the end of a step.
void carry_shift(TokenFlow& flow, const Attention& attention, const flow::Stretch& stretch,
                 flow::Stepper& stepper);

}  // namespace attractor::depth
