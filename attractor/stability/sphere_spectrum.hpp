// The attention kernel e^{beta <x,y>} on S^{d-1}, diagonal in spherical harmonics (Funk-Hecke): for
// the uniform probability its eigenvalue on harmonics of degree l is
//
//   lambda_l = Gamma(d/2) (2/beta)^{d/2-1} I_{l+d/2-1}(beta),    lambda_0 -> 1 as beta -> 0.
//
// Nothing overflows: ratios lambda_{l+1}/lambda_l = I_{nu+1}/I_nu come from the backward recurrence
// of Bessel functions, started so high that its error has died out, and the scale from
//
//   e^beta = sum_l N(d,l) lambda_l,    N(d,l) the number of harmonics of degree l,
//
// a sum of positive terms. Relative accuracy about 1e-15 sqrt(l), for beta from 0 to 10^6 and any
// d >= 2. Cost O(count + sqrt(beta) + d).
#pragma once

#include <cstddef>
#include <vector>

namespace attractor::meanfield {

struct SphereSpectrum {
  std::size_t dim = 2;
  double beta = 0;
  std::vector<double> ratio;  // lambda_l / lambda_0
  std::vector<double> pull;   // lambda_l / (beta lambda_0); at beta = 0: 1/d for l = 1, else 0
  double log_scale = 0;       // ln(lambda_0 e^{-beta})

  std::size_t count() const { return ratio.size(); }
  /// lambda_0, or infinity.
  double lambda0() const;
};

/// Degrees 0 .. count-1.
SphereSpectrum sphere_spectrum(std::size_t dim, double beta, std::size_t count);

/// Degrees until lambda_l / lambda_0 < smallest, at least two of them.
SphereSpectrum resolved_spectrum(std::size_t dim, double beta, double smallest);

/// -Delta on harmonics of degree l: l (l + d - 2).
double laplacian(std::size_t dim, std::size_t degree);

}  // namespace attractor::meanfield
