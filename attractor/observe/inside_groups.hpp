// What coalescence hides from measurements of the state: a token of mass m counts as m tokens at
// one place, while they lie around it at offsets xi_i (depth/coalescence/token_groups.hpp). With c
// the mean of all tokens and c_g the centre of the group of token i,
//
//   1 - mean_cosine   += sum_i |xi_i|^2 <c, c_g> / (N - 1)
//   dE/dt             += (1/N) sum_i (Z_g / N) |xi_i'|^2  (SA),  (1/N) sum_i |xi_i'|^2  (USA)
//   one group left:  largest_angle = max_ij |xi_i - xi_j|,  smallest_cosine = 1 - that^2 / 2
//
// where nothing cancels however small the offsets are. While offsets are visible in double
// precision and tokens are few (kMembersSeen), pairs, clusters and the hemisphere are those of all
// members; otherwise they are those of centres, off by an offset at most. Energy and entropy change
// in second order only, as little as coalescence itself changes.
#pragma once

#include <cstddef>
#include <span>

#include "attractor/depth/attention_flow.hpp"
#include "attractor/observe/observation.hpp"

namespace attractor::observe {

inline constexpr std::size_t kMembersSeen = 512;

/// Offsets that double precision can show beside their centres, of tokens that are few enough.
bool members_visible(const depth::TokenGroups& groups);

/// Completes an observation of the state by what its groups hold.
void observe_inside(const depth::AttentionFlow& flow, std::span<const double> state,
                    const ObserveOptions& options, Observation& o);

}  // namespace attractor::observe
