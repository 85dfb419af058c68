// Laws that a mean field starts from, as functions that every solver and every random draw shares.
// Densities are relative to the uniform probability (mean 1).
//
// On the circle:   perturbed        1 + eps cos k theta
//                  bumps            sum of von Mises laws e^{c cos(theta - centre)} / I_0(c)
//                  wrapped Cauchy   m_k = R^k
//                  labelled map     theta = 2 pi u + A sin 2 pi u, |A| < 1
//                  tokens           equal atoms at given angles: no density
// On S^{d-1}, functions of t = <x, e_1>:
//                  perturbed        1 + eps p_l(t) / p_l(1)       (d = 2: 1 + eps cos l theta)
//                  bump             e^{c t} / lambda_0(c)         (von Mises-Fisher)
// and sums of bumps about any centres. Moments and coefficients are closed forms or converged to
// rounding.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <tuple>
#include <vector>

#include "attractor/base/random.hpp"
#include "attractor/mean_field/inverse_cdf.hpp"

namespace attractor::meanfield {

inline constexpr double kSmallestDensity = 1e-5;  // relative to uniform

/// Angles, polar angles or points of S^{d-1} with positive weights of sum one.
struct WeightedPoints {
  std::vector<double> points{}, weights{};
  /// What the rule found for the mass before it was made one: not 1 where it is too coarse.
  double mass = 1;
};
inline auto fields(WeightedPoints& value) {
  auto& [points, weights, mass] = value;
  return std::tie(points, weights, mass);
}

// ---- The circle.

struct CircleLaw {
  std::function<double(double angle)> density{};  // empty: atoms
  std::function<double(double u)> quantile{};     // angle of the label u in (0, 1)
  /// E e^{ik theta}, k < count.
  std::function<std::vector<std::complex<double>>(std::size_t count)> moments{};
};

struct Bump {
  double centre = 0;  // radians
  double concentration = 1;
  double weight = 1;  // relative to the others
};

CircleLaw perturbed_circle(std::size_t mode, double amplitude);  // |amplitude| <= 1
CircleLaw circle_bumps(std::vector<Bump> bumps);                 // concentrations up to 1e6
CircleLaw wrapped_cauchy(double order);                          // 0 <= order < 1
CircleLaw labelled_map(double amplitude);                        // |amplitude| < 1
CircleLaw circle_atoms(std::vector<double> angles);

/// Angles at the labels (i + 1/2)/count, not wrapped: equal weights.
std::vector<double> circle_labels(const CircleLaw& law, std::size_t count);
/// Independent angles; `replicate` numbers independent sets.
std::vector<double> circle_samples(const CircleLaw& law, std::size_t count, const Stream& stream,
                                   std::uint64_t replicate);

/// The law as weighted angles. A density that is nowhere below `smallest` is put on equal angles,
/// whose trapezoid rule converges faster than any power of the count. Elsewhere equal weights are
/// used: softmax attention divides by partition functions as small as the density, known to 1e-16
/// only, and noise in the motion of the lightest markers would stall adaptive steps. Equal weights
/// err by about (length of the tail)/count. Unnormalised attention takes smallest = 0. Equal
/// weights are also taken where equal angles are too coarse to find the mass of the density.
WeightedPoints circle_markers(const CircleLaw& law, std::size_t count,
                              double smallest = kSmallestDensity);

// ---- The sphere.

struct ZonalLaw {
  std::size_t dim = 3;
  std::function<double(double t)> log_density{};
  /// c_l = E p_l(t), l < count (gegenbauer.hpp).
  std::function<std::vector<double>(std::size_t count)> coefficients{};
  double sharpness = 1;  // one over the shortest length on which the density changes
};

ZonalLaw perturbed_zonal(std::size_t dim, std::size_t degree, double amplitude);
ZonalLaw zonal_bump(std::size_t dim, double concentration);  // up to 1e6

/// The law as weighted polar angles: at the nodes of a Gauss rule where the density is nowhere
/// small, equal weights elsewhere (see circle_markers).
WeightedPoints zonal_markers(const ZonalLaw& law, std::size_t count,
                             double smallest = kSmallestDensity);

/// Independent points of S^{d-1} (count x dim).
class ZonalSampler {
 public:
  explicit ZonalSampler(const ZonalLaw& law);
  std::vector<double> points(std::size_t count, const Stream& stream,
                             std::uint64_t replicate) const;

 private:
  std::size_t dim_;
  InverseCdf polar_angle_;
};

struct SphereBump {
  std::vector<double> centre{};  // a unit vector
  double concentration = 1, weight = 1;
};

/// The density of a sum of bumps at a point.
std::function<double(std::span<const double> point)> sphere_bumps(std::vector<SphereBump> bumps);

}  // namespace attractor::meanfield
