// Energy, dissipation and entropy of all tokens in O(n), from the field that they make (d = 2:
// circle, d = 3: sphere, d = 4 .. 8: power moments where they are quicker than rows) under sa or
// usa with identity weights. With weights w of sum 1, c_ij = <x_i, x_j>, Z_i = sum_j w_j e^{beta
// (c_ij - 1)}, D_i the same sum of x_j, A_i = <D_i, x_i>, N originals:
//
//   E     = e^beta / (2 beta) sum_i w_i Z_i
//   dE/dt = e^beta sum_i w_i |P D_i|^2 / Z_i  (sa),   e^{2 beta} sum_i w_i |P D_i|^2  (usa)
//   H     = sum_i w_i (ln N Z_i + beta (1 - A_i / Z_i))
//
// On the circle A comes from two more fields: cos(a - b) = cos a cos b + sin a sin b, so tokens
// weighted with w_j (2 + cos theta_j) and w_j (2 + sin theta_j) give it. The errors are bounds,
// from that of the field; where they are large (a motion slower than the field can tell) there is
// no answer.
#pragma once

#include <optional>
#include <span>

#include "attractor/observe/energy.hpp"
#include "attractor/tokens/circle_order.hpp"

namespace attractor::observe {

/// `order`: of the tokens, for d = 2. None where energy() must read rows.
std::optional<Energy> field_energy(const Attention& attention, std::span<const double> tokens,
                                   std::span<const double> masses, const CircleOrder* order);

/// The same in any dimension for tokens in clumps (depth/clumps/clump_sums.hpp). With p_i = sum_j
/// w_ij (x_j - x_i) they have 1 - A_i / Z_i = -<p_i, x_i> / Z_i, and nothing cancels. None where
/// there are no clumps that are worth while.
std::optional<Energy> clumped_energy(const Attention& attention, std::span<const double> tokens,
                                     std::span<const double> masses);

}  // namespace attractor::observe
