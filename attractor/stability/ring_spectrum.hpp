// Twisted states of a ring with rotary positions (arXiv 2607.24502). n tokens on the circle attend
// to all (softmax, identity weights); queries and keys are turned by a frequency that closes, w =
// 2 pi m/n, values are not:
//
//   theta_i' = sum_j P_ij sin(theta_j - theta_i),   P_ij ~ e^{beta cos(theta_j - theta_i +
//   w(j-i))}.
//
// theta_i = 2 pi q i/n rests. With s = q + m and kappa = 2 pi k/n waves of number p grow like
// e^{lambda_p t},
//
//   lambda_p = sum_k P_k (cos q kappa - beta sin s kappa sin q kappa)(cos p kappa - 1),
//
// and since e^{beta cos x} = sum_l I_l(beta) e^{ilx}, sums over k are sums of Bessel functions over
// all l with l s = +-a (mod n): aliasing. At q = 0, one cluster, lambda_p <= 0: it attracts, at a
// rate that positions slow down. At m = -2q, q prime to a large n, the twist itself attracts above
// beta = 0.584108: tokens never collapse. With other masks, frequencies or dimensions the twist
// does not rest, and only the Jacobian of the flow can tell.
#pragma once

#include <cstddef>
#include <vector>

namespace attractor::meanfield {

struct Ring {
  std::size_t tokens = 1;
  long long twist = 0;  // q
  long long turn = 0;   // m
  double beta = 1;
};

/// lambda_p for p = 0 .. n-1, lambda_0 = 0; absolute error about 1e-15 (1 + |beta|).
std::vector<double> twisted_spectrum(const Ring& ring);

/// The largest but lambda_0, that of rotations; minus infinity for one token.
double fastest_growth(const Ring& ring);

}  // namespace attractor::meanfield
