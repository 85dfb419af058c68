// Long contexts whose keys are independent and uniform on S^{d-1}. A token gives itself the weight
//
//   p = 1/(1 + S),   S = sum over the n - 1 others of e^{-beta (1 - cosine)},
//
// a random number. With w = (1 - cosine)/2, which has the law Beta(m, m), m = (d-1)/2, the terms
// are independent, so that averages are exact for every n:
//
//   E e^{-uS} = (1 - q(u))^{n-1},  q(u) = E[1 - e^{-u e^{-2 beta w}}],
//   E p = int_0^inf e^{-u} E e^{-uS} du,   E p^2 = int_0^inf u e^{-u} E e^{-uS} du.
//
// The nearest key is n^{-1/(d-1)} away. So p is 0, random or 1 as beta is far below, of the order
// of, or far above n^{2/(d-1)} (arXiv 2605.08505), where keys of a common cosine have ln n/(1-rho)
// and no randomness. With d - 1 = k ln n the nearest key keeps its distance, and the logarithm
// is back: beta/ln n -> max over t of (1 + (k/2) ln(1-t^2)) / (1-t), from n L(beta) = 1, L(beta) =
// E e^{-beta(1-t)}, by Laplace's method.
//
// A draw takes the nearest keys by their order statistics, exactly, and the sum over the many
// others as a normal number of the right mean and variance: any n at the same cost.
// Quadratures are trapezoidal rules in ln u and in the logit of w, exact to about 1e-10.
#pragma once

#include <cstdint>

#include "attractor/base/random.hpp"

namespace attractor::meanfield {

struct IidKeys {
  double tokens = 1e6;  // n, 2 to 1e300
  double dim = 3;       // d, 3 to 1e6; any number
  double beta = 1;      // 0 < beta <= 1e300
};

struct OwnWeight {
  double mean = 0, deviation = 0;  // over keys
};
/// Throws Error on values outside the ranges above; the same for all below.
OwnWeight own_weight(const IidKeys& keys);

/// The beta at which E p = 1/2; n >= 3.
double half_scale(double tokens, double dim);

/// lim half_scale / ln n for d - 1 = dim_per_log ln n; above 0.
double log_law_constant(double dim_per_log);

/// p of keys drawn at random: the item of a stream. nearest: keys that are drawn one by one.
double draw_own_weight(const IidKeys& keys, const Stream& stream, std::uint64_t item,
                       std::uint64_t nearest = 128);

}  // namespace attractor::meanfield
