// Whether tokens balance each other as far as doubles can tell. Token i moves by what is left of
// the pulls
//
//   B_i = sum_j m_j e^{l_ij} |v_j - v_i| / Z_i      (USA: over the mass of all; with a value matrix
//                                                    its own |P_i v_i| besides)
//
// Positions are rounded to eps, logits of size L by eps L, so a velocity below 16 eps (1 + 2 L) B_i
// may be rounding and nothing else. A slow motion that is not balanced, like that of clusters over
// times e^{c beta}, has all its pulls as small as itself and stays far above. O(n^2 d).
#pragma once

#include <span>

#include "attractor/attention/attention.hpp"
#include "attractor/flow/flow.hpp"

namespace attractor::depth {

/// Of tokens with these masses (`total` in all) and drifts, per e^log_unit. Nothing is known
/// (pull = 0) where the fastest token moves at more than a thousandth of what is possible.
flow::Balance balance_of(const Attention& attention, std::span<const double> state,
                         std::span<const double> masses, double total,
                         std::span<const double> drift, double log_unit);

}  // namespace attractor::depth
