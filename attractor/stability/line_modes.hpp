// How many modes the kernel density of n independent standard normal points on the line has on
// average, bandwidth 1/sqrt(beta), by the formula of Kac and Rice: where many points are within a
// bandwidth, K' and K'' are a Gaussian pair, and maxima have the density
//
//   E[(K'')_- | K' = 0] p_{K'}(0).
//
// Means and covariances are those of one point's share g', g'' (g = e^{-u^2/2}, u = (t - x)
// sqrt(beta)), times n. Where noise exceeds the slope of the normal law this is
// sqrt(3 beta/2) / (2 pi), as on the circle (expected_density_maxima); where the slope wins there
// are none, and beyond sqrt(2 ln n ...) there are no points. With beta = n^a, 0 < a < 2, the
// average becomes
//
//   sqrt(3/2)/pi (sqrt((2 - a)/a) - sqrt(max(0, 2 - 3a)/a)) sqrt(beta ln beta)
//
// (order: arXiv 2412.09080; constant: our derivation). On a flat background the number of points in
// a bandwidth is the only parameter: nu(lambda) modes for each bandwidth, sqrt(3/2)/(2 pi) for
// many, lambda e^{-2 lambda} for few points, since two closer than two bandwidths share a mode.
#pragma once

namespace attractor::meanfield {

struct NormalSample {
  double points = 1e6;  // n, 1 to 1e300
  double beta = 1e6;    // 1 to 1e300
};

/// Expected modes per unit of length at t, where points are many. Throws Error on a sample outside
/// its range.
double line_mode_density(const NormalSample& sample, double t);

/// Points that are expected within a bandwidth of t: n / sqrt(beta) times the normal density.
double points_in_bandwidth(const NormalSample& sample, double t);

/// The factor of sqrt(beta ln beta) above; 0 < a < 2.
double line_mode_constant(double a);

}  // namespace attractor::meanfield
