// The polynomials behind power_moments.hpp: of all degrees p for which
//
//   Phi(t) = (e^{beta (t - 1)} - e^{-beta}) / beta     (t at beta = 0),    Phi' = e^{beta (t - 1)}
//   Psi(t) = t e^{beta (t - 1)}
//
// on -1 <= t <= 1 are cut after T_p of their Chebyshev series, written in powers of t. From the
// Taylor series down, degree by degree (economisation). Of Phi, of sqrt(1 - t^2) Phi' and of Psi
// less than e^{-beta} (I_p + 2 I_{p+1} + 2 I_{p+2} + ...)(beta) is left out. Powers cancel: their
// coefficients sum to 1 for Taylor's degree, and to up to 2.4^p times what is left out below it.
#pragma once

#include <cstddef>
#include <vector>

namespace attractor::kernels {

inline constexpr std::size_t kMostPowers = 150;  // 150! is a number
inline constexpr double kMostPowerBeta = 100;

struct PowerSeries {
  std::vector<double> phi, psi;  // coefficients of 1, t, .., t^p
  std::size_t degree() const { return phi.size() - 1; }
};

/// The series of degree p, 1 .. kMostPowers, for 0 <= beta <= kMostPowerBeta.
PowerSeries power_series(double beta, std::size_t degree);

/// Bounds of the errors of Z, P D and <D, x> (power_moments.hpp) for degrees 0 .. kMostPowers: what
/// is left out, and rounding. Terms of a sum are at most sqrt(E) together, E = sum_ij w_i w_j
/// e^{beta (<x_i, x_j> - 1)}, as the kernel is positive definite; each of them has the rounding of
/// about p factors and a gradient d of them. Bounds are at least twice what was seen, 35 to 310 eps
/// for p = 14 to 140, clusters (E = 1) on the diagonal of d = 3 to 8 dimensions.
struct PowerErrors {
  std::vector<double> fixed, rounding;
  double at(std::size_t degree, double energy) const;
  /// The least degree with this error; if there is none up to `highest`, that of the least error.
  std::size_t degree(double error, double energy, std::size_t highest) const;
};
PowerErrors power_errors(double beta, std::size_t dim);

/// Mean of e^{beta (t - 1)} over the sphere in `dim` dimensions: the partition sum of tokens that
/// are spread evenly.
double even_partition(double beta, std::size_t dim);

}  // namespace attractor::kernels
