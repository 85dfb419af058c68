#include "papers/limits/flat_modes.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "attractor/base/random.hpp"
#include "attractor/depth/mean_shift/density_modes.hpp"
#include "attractor/stability/line_modes.hpp"

namespace attractor::papers {
namespace {

constexpr double kTurn = 2 * std::numbers::pi;

/// Both halves of the line, up to where no point is.
double integral(const meanfield::NormalSample& sample, const FlatModes& flat) {
  constexpr double kStep = 0.002, kNobody = 1e-7;
  double sum = 0;
  for (double t = kStep / 2;; t += kStep) {
    const double lambda = points_in_bandwidth(sample, t);
    if (lambda < kNobody) return sum;
    sum += 2 * kStep * line_mode_density(sample, t) * flat.at(lambda);
  }
}

}  // namespace

double circle_modes(std::size_t points, double beta, std::uint64_t seed, std::uint64_t sample) {
  const Stream stream(seed, "points on the circle");
  std::vector<double> angles(points);
  for (std::size_t i = 0; i < points; ++i) angles[i] = kTurn * stream.uniform(sample, i);
  return static_cast<double>(density_modes(angles, beta, depth::Curve::circle).size());
}

double line_modes(std::size_t points, double beta, std::uint64_t seed, std::uint64_t sample) {
  const Stream stream(seed, "points on the line");
  std::vector<double> places(points);
  stream.normals(sample, places);
  return static_cast<double>(density_modes(places, beta, depth::Curve::line).size());
}

double FlatModes::at(double points_in_bandwidth) const {
  const double l = points_in_bandwidth;
  if (l <= lambda.front()) return l * std::exp(-2 * l) * kTurn / std::sqrt(1.5);
  if (l >= lambda.back()) return 1;
  const auto k =
      static_cast<std::size_t>(std::upper_bound(lambda.begin(), lambda.end(), l) - lambda.begin());
  const double part = std::log(l / lambda[k - 1]) / std::log(lambda[k] / lambda[k - 1]);
  return factor[k - 1] + part * (factor[k] - factor[k - 1]);
}

FlatModes flat_modes(double beta, const Effort& effort) {
  FlatModes flat;
  std::uint64_t sample = 0;
  for (double lambda = 0.02; lambda < 6 && !effort.context.stopped(); lambda *= 1.25) {
    const auto points = static_cast<std::size_t>(lambda * kTurn * std::sqrt(beta));
    const double modes = circle_modes(points, beta, 1, sample++);
    flat.lambda.push_back(static_cast<double>(points) / (kTurn * std::sqrt(beta)));
    flat.factor.push_back(modes / std::sqrt(1.5 * beta));
    // Maxima repel each other: their number varies less than that of independent things.
    flat.error.push_back(flat.factor.back() / std::sqrt(modes));
  }
  return flat;
}

Expected expected_line_modes(double points, double beta, const FlatModes& flat) {
  const meanfield::NormalSample sample{points, beta};
  Expected result{.modes = integral(sample, flat)};
  double squares = 0;
  for (std::size_t k = 0; k < flat.error.size(); ++k) {
    FlatModes moved = flat;
    moved.factor[k] += flat.error[k];
    const double change = integral(sample, moved) - result.modes;
    squares += change * change;
  }
  result.error = std::sqrt(squares);
  return result;
}

}  // namespace attractor::papers
