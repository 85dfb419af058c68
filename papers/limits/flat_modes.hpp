// Modes of the kernel density of independent points on the circle and on the line, counted
// (depth/mean_shift/density_modes.hpp), and what the line must have if the circle is right: on a
// flat background only the number lambda of points in a bandwidth matters, so that factors which
// the circle shows turn Kac and Rice's density for many points (stability/line_modes.hpp) into the
// density for any number.
#pragma once

#include <cstdint>
#include <vector>

#include "papers/entry.hpp"

namespace attractor::papers {

/// Uniform points on the circle, or normal ones on the line.
double circle_modes(std::size_t points, double beta, std::uint64_t seed, std::uint64_t sample);
double line_modes(std::size_t points, double beta, std::uint64_t seed, std::uint64_t sample);

/// Modes over sqrt(3 beta/2) on the circle, at rising lambda.
struct FlatModes {
  std::vector<double> lambda{}, factor{}, error{};
  /// Between them linear in ln lambda; below, two points closer than two bandwidths share a mode.
  double at(double points_in_bandwidth) const;
};
FlatModes flat_modes(double beta, const Effort& effort);

/// What a normal sample has on average, and the error that the factors leave in it.
struct Expected {
  double modes = 0, error = 0;
};
Expected expected_line_modes(double points, double beta, const FlatModes& flat);

}  // namespace attractor::papers
