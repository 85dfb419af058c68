// Linear stability of uniformly spread tokens on S^{d-1} under attention and noise sqrt(2 kappa)
// dB. A perturbation of the uniform density by a spherical harmonic of degree l grows like
// e^{sigma_l t},
//
//   sigma_l = l (l+d-2) (lambda_l/beta - kappa)           unnormalised attention,
//   sigma_l = l (l+d-2) (lambda_l/(beta lambda_0) - kappa)   softmax attention,
//
// lambda_l the eigenvalues of sphere_spectrum.hpp; on the circle l is the wave number k. lambda_l
// falls with l, so noise quenches degree 1 last, at kappa_# = lambda_1/beta (softmax: over
// lambda_0). Below beta = 0 lambda_l(-beta) = (-1)^l lambda_l(beta): odd degrees grow as at -beta,
// even ones decay as fast as they grow there. Rates are kept per e^log_unit and so never overflow.
// Cost O(sqrt(beta) + d + modes).
// Geshkovski et al. 2410.23228 (circle); theory A4, A10.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "attractor/attention/attention.hpp"

namespace attractor::meanfield {

inline constexpr std::size_t kEveryMode = std::numeric_limits<std::size_t>::max();

struct UniformState {
  Rule rule = Rule::softmax;
  std::size_t dim = 2;
  double beta = 1;
  double noise = 0;  // kappa
};

struct Stability {
  double log_unit = 0;        // sigma_l = rate[l] e^log_unit: 0 (SA) or ln lambda_0 (USA)
  std::vector<double> rate;   // rate[0] = 0
  std::size_t fastest = 1;    // degree of the largest rate
  std::size_t runner_up = 2;  // and of the second
  double critical = 0;        // kappa_# e^{-log_unit}: noise from which on every mode decays
  /// How many degrees grow, the lowest ones (below beta = 0 the lowest odd ones); kEveryMode: all.
  std::size_t unstable = 0;

  bool is_unstable() const { return rate[fastest] > 0; }
  /// Infinity where it does not fit.
  double growth(std::size_t degree) const;
  /// NaN unless the degree grows.
  double log_growth(std::size_t degree) const;
  double critical_noise() const;
  double log_critical_noise() const;
  /// Growth of the runner-up over that of the fastest; NaN if nothing grows.
  double runner_up_ratio() const;
  /// Clusters that the fastest mode makes: its wave number on the circle, and along a great circle
  /// of a sphere; 0 if the uniform state is stable.
  std::size_t predicted_clusters() const { return is_unstable() ? fastest : 0; }
};

/// Degrees up to `modes`, and all beyond that matter. Throws Error unless dim is 2 .. 10^4, beta
/// -10^6 .. 10^6 and noise >= 0.
Stability stability(const UniformState& state, std::size_t modes = 0);

/// The rule of thumb for the fastest mode without noise: the root of l (l+d-2) = 2 |beta|. Rounded
/// (to at least 1) it is the fastest mode or, for about one beta in a hundred, the runner-up next
/// to it; below beta = 0 it is the odd degree next to the root, or the one on its other side.
double fastest_mode_rule(std::size_t dim, double beta);

/// Growth of displacements cos(k theta) of `tokens` equispaced tokens on the circle, k = 0 ..
/// tokens/2, in the unit of stability(): wave numbers k + m tokens cannot be told apart. beta >= 0.
std::vector<double> equispaced_rates(Rule rule, double beta, std::size_t tokens);

/// Maxima on the circle that the kernel density of many independent uniform tokens has on average,
/// by Rice's formula sqrt(sum k^4 A_k^2 / sum k^2 A_k^2), A_k = I_k e^{sigma_k t}, after the
/// fastest mode has grown by e^e_foldings (linear phase, no noise): about sqrt(3 beta/2) at first,
/// the fastest mode after long growth.
double expected_density_maxima(double beta, double e_foldings = 0);

/// beta_*: for unnormalised attention the transition at kappa_# is continuous up to here and jumps
/// beyond. Root of I_{d/2+1}/I_{d/2} = 1/d.
double tricritical_beta(std::size_t dim);

}  // namespace attractor::meanfield
