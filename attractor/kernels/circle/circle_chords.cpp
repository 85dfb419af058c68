#include "attractor/kernels/circle/circle_chords.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>
#include <numeric>

#include "attractor/base/threads.hpp"

namespace attractor::kernels {
namespace {

constexpr double kTurn = 2 * std::numbers::pi;
constexpr std::size_t kGrain = 4096;

bool on_circle(std::span<const double> points) {
  std::size_t others = 0;
  for (std::size_t i = 0; i < points.size(); i += 2)
    others += !(std::abs(points[i] * points[i] + points[i + 1] * points[i + 1] - 1) <= 2e-6);
  return others == 0;
}

/// Tokens in order stay so across the seam at pi: each one within a turn after the one before.
void unroll(std::vector<double>& angles) {
  constexpr double kDisorder = 1e-7;  // the field forgives more
  for (std::size_t i = 1; i < angles.size(); ++i)
    angles[i] += kTurn * std::ceil((angles[i - 1] - kDisorder - angles[i]) / kTurn);
}

template <class T>
std::vector<T> picked(std::span<const T> values, std::span<const std::uint32_t> from) {
  std::vector<T> result(values.empty() ? 0 : from.size());
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = values[from[i]];
  return result;
}

void scatter(std::vector<double>& values, std::span<const std::uint32_t> from) {
  const std::vector<double> sorted = values;
  for (std::size_t i = 0; i < sorted.size(); ++i) values[from[i]] = sorted[i];
}

/// rates_i (-y_i, x_i).
void turn(std::span<const double> points, std::span<const double> rates, std::span<double> out) {
  parallel_for(out.size() / 2, kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      out[2 * i] = -rates[i] * points[2 * i + 1];
      out[2 * i + 1] = rates[i] * points[2 * i];
    }
  });
}

std::vector<std::uint32_t> by_angle(std::span<const double> angles) {
  std::vector<std::uint32_t> order(angles.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return angles[a] < angles[b]; });
  return order;
}

void angles_of(std::span<const double> points, std::vector<double>& angles) {
  angles.resize(points.size() / 2);
  parallel_for(angles.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      angles[i] = std::atan2(points[2 * i + 1], points[2 * i]);
  });
}

}  // namespace

CircleChords::CircleChords(const CircleFieldSettings& settings)
    : accuracy_(settings.accuracy), field_(settings) {}

SphereFieldSummary CircleChords::evaluate(std::span<const double> points,
                                          std::span<const double> weights,
                                          const SphereFieldOut& out) {
  assert(out.along.empty());
  if (!on_circle(points)) return {.on_sphere = false};
  angles_of(points, angles_);
  unroll(angles_);
  pull_.resize(out.pull.size() / 2);
  mean_.resize(out.mean.size() / 2);
  std::vector<double> partition(out.partition.size());
  const CircleFieldOut rates{
      .pull = pull_, .partition = partition, .mean = mean_, .scale = out.scale};
  CircleFieldSummary found = field_.evaluate(angles_, weights, rates);
  const bool scattered = !found.in_order;
  if (scattered) {
    angles_of(points, angles_);
    const std::vector<std::uint32_t> order = by_angle(angles_);
    angles_ = picked<double>(angles_, order);
    found = field_.evaluate(angles_, picked<double>(weights, order), rates);
    for (std::vector<double>* values : {&pull_, &mean_, &partition}) scatter(*values, order);
  }
  turn(points, pull_, out.pull);
  turn(points, mean_, out.mean);
  std::copy(partition.begin(), partition.end(), out.partition.begin());
  return {.energy = found.energy,
          .order = found.order,
          .largest_pull = found.largest_pull,
          .smallest_partition = found.smallest_partition,
          .largest_mean = found.largest_mean,
          .error = accuracy_,
          .scattered = scattered};
}

std::vector<std::uint32_t> CircleChords::in_cells(std::span<const double> points) const {
  if (!on_circle(points)) return {};
  std::vector<double> angles;
  angles_of(points, angles);
  return by_angle(angles);
}

}  // namespace attractor::kernels
