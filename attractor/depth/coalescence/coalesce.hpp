// Which tokens may be replaced by one. A group G (connected at distance `radius`) coalesces when
//
//   1. it is small: every member within 2 radius of its centre c;
//   2. it contracts in every direction. Inside a small group the linearised flow is
//      (beta Cov_w - 1) times its own attraction, Cov_w the spread of what its members attend to;
//      with Q = K = V = I it is enough that  sum_{j not in G} m_j w_j beta |x_j - c|^2 <= m_G / 2.
//      With other weights each member must move towards the centre in the present velocity field.
//
// Replacing members c + xi_i by the token c with mass m_G changes every force by the second order
// of xi: with S = sum m_i |xi_i|^2 / m_G the relative change is at most (beta + beta^2 r^2) S / 2
// for a token at distance r, and decays like S e^{-t}; integrated, it displaces a token by at most
// (1 + beta) S to leading order in the radius. merge_shift.hpp measures what it really is.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attractor/attention/attention.hpp"
#include "attractor/depth/token_flow.hpp"

namespace attractor::depth {

/// `attention` is what moves the tokens of `flow`.
std::vector<Group> coalescing_groups(const TokenFlow& flow, const Attention& attention,
                                     std::span<const double> state, double radius);

}  // namespace attractor::depth
