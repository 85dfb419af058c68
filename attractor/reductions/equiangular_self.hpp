// Equiangular tokens that exclude themselves from attention, or remove their own value from it
// (attention/self_attention.hpp), V = I, softmax. What attention returns stays in the span of the
// own direction and the sum of all, A_i = l theta_i + p sum_j theta_j, and in the position x of
// equiangular_clock.hpp, with w = 1 - g and s = 1 + (n-1) g, all schemes of normalisation.hpp move
//
//   x' = 2 n p c / (r m),    r' = (l + p s) c / m where lengths grow,   c the pace, m = |A| or 1
//
//                     p                            l + p s = <theta, A>   |A|^2
//   include           1 / (e^{beta w} + n - 1)     (E + s) p              (E^2 + 2 E s + n s) p^2
//   exclude           1 / (n - 1)                  g                      (1 + (n-2) s) p^2
//   remove-own-value  as include                   0                      (n-1) w s p^2
//
// (beta r^2 for beta where attention sees lengths; E = e^{beta w} - 1.) Excluding makes beta
// irrelevant: post-norm has x = x_0 + 2nt/(n-1). Removing keeps r = 1: pre-norm and mix are
// post-norm, ln-scaling is damped-post. And where |A| is divided out, the angle phi of a token to
// the mean direction, cos^2 phi = s/n, falls at the pace c itself: orthogonal tokens are one at
// depth arccos(1/sqrt n) under peri-norm, after finitely many layers.
#pragma once

#include "attractor/attention/self_attention.hpp"
#include "attractor/reductions/equiangular.hpp"

namespace attractor::meanfield {

/// At depth t (0 to 1e6), by Dormand and Prince 8(5,3) with tolerance 1e-13; exactly one direction
/// (log_gap = -infinity) from where removing under a unit scheme has ended. Softmax only.
EquiangularState equiangular_at(const Equiangular& e, SelfAttention self, double time);

}  // namespace attractor::meanfield
