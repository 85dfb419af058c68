// Offsets of coalesced tokens (token_groups.hpp), carried along the path of the tokens of the state
// by xi' = (r + K) xi, r and K those of linearised_row.hpp at the centre. Over a stretch of length
// h, with the nodes of Gauss at (1/2 -+ sqrt 3 / 6) h and a = 1/4 -+ sqrt 3 / 6,
//
//   xi(h) = e^{h (r_1 + r_2) / 2}  e^{h (a_1 K_1 + a_2 K_2)}  e^{h (a_2 K_1 + a_1 K_2)}  xi(0),
//
// a commutator-free method of Magnus of order 4 (Blanes and Moan 2006). The contraction r commutes
// with all and goes to the logarithm, so steps may be as long as the slow motion of the centres
// allows, however often e their offsets shrink meanwhile. A stretch in which |K| h is large is cut.
#pragma once

#include "attractor/attention/attention.hpp"
#include "attractor/depth/coalescence/token_groups.hpp"
#include "attractor/flow/flow.hpp"

namespace attractor::depth {

/// Brings groups.below() from the beginning of the stretch to theta.
void carry_offsets(const Attention& attention, const flow::Stretch& stretch, double theta,
                   TokenGroups& groups);

/// ln of what the motion of members within their groups adds to dE/dt (observe/energy.hpp),
/// identity weights; -infinity for nothing.
double log_inner_dissipation(const Attention& attention, std::span<const double> state,
                             const TokenGroups& groups);

}  // namespace attractor::depth
