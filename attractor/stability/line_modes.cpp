#include "attractor/stability/line_modes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "attractor/base/error.hpp"

namespace attractor::meanfield {
namespace {

constexpr double kRoot = 0.39894228040143267794;  // 1/sqrt(2 pi)

double normal_density(double x) { return kRoot * std::exp(-x * x / 2); }

/// E[max(0, -y)] of a normal y.
double negative_part(double mean, double deviation) {
  const double z = mean / deviation;
  return deviation * normal_density(z) - mean * std::erfc(z / std::numbers::sqrt2) / 2;
}

void require(const NormalSample& s) {
  if (!(s.points >= 1 && s.points <= 1e300))
    throw Error(fmt::format("the number of points is {}; allowed: 1 to 1e300", s.points));
  if (!(s.beta >= 1 && s.beta <= 1e300))
    throw Error(fmt::format("beta is {}; allowed: 1 to 1e300", s.beta));
}

}  // namespace

double points_in_bandwidth(const NormalSample& sample, double t) {
  return std::exp(std::log(sample.points) - std::log(sample.beta) / 2 - t * t / 2) * kRoot;
}

double line_mode_density(const NormalSample& sample, double t) {
  require(sample);
  const double h = 1 / std::sqrt(sample.beta);
  // Sums over u by the trapezoidal rule: exact to rounding for such functions. Everything is
  // relative to `local`, the points in a bandwidth, so that no density underflows; on a flat
  // background g', g'' and g'g'' have mean 0, so that only its `tilt` counts for them.
  constexpr double kStep = 0.25, kFar = 12;
  double slope = 0, bend = 0, slopes = 0, bends = 0, mixed = 0;
  for (double u = -kFar; u <= kFar; u += kStep) {
    const double tilt = kStep * std::expm1(t * u * h - u * u * h * h / 2), density = kStep + tilt;
    const double g = std::exp(-u * u / 2), first = -u * g, second = (u * u - 1) * g;
    slope += tilt * first;
    bend += tilt * second;
    slopes += density * first * first;
    bends += density * second * second;
    mixed += tilt * first * second;
  }
  const double local = points_in_bandwidth(sample, t);
  // The covariance of a fixed number of points: less the products of the means, over n.
  const double share = std::exp(-std::log(sample.points)) * local;
  slopes -= share * slope * slope;
  bends -= share * bend * bend;
  mixed -= share * slope * bend;
  const double deviation = std::sqrt(local * slopes);
  const double at_zero = normal_density(local * slope / deviation) / deviation;
  const double left = std::sqrt(local * (bends - mixed * mixed / slopes));
  return negative_part(local * (bend - mixed / slopes * slope), left) * at_zero / h;
}

double line_mode_constant(double a) {
  if (!(a > 0 && a < 2))
    throw Error(fmt::format("the exponent is {}; allowed: above 0, below 2", a));
  return std::sqrt(1.5) / std::numbers::pi *
         (std::sqrt((2 - a) / a) - std::sqrt(std::max(0.0, 2 - 3 * a) / a));
}

}  // namespace attractor::meanfield
