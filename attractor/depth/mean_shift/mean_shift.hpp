// Mean shift: the classical clustering by the modes of a kernel density estimate,
//
//   R^d:  x <- m(x)          sphere:  x <- m(x) / |m(x)|          m(x) = sum_j w_j x_j / sum_j w_j
//
// with the points x_j at rest (depth/mean_shift/kernel_density.hpp); bandwidth h = beta^{-1/2}. The
// density never decreases along the way, and what stays is a critical point of it (Fukunaga,
// Hostetler 1975; Cheng 1995; theory A2). It is softmax attention with frozen keys. When the points
// move too (blurring mean shift) it is the flow of depth/attention_flow.hpp. Cost of a step: one
// evaluation of the density for every path that still climbs alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace attractor::depth {

struct MeanShiftOptions {
  double beta = 1;
  bool on_sphere = false;    // points are unit vectors
  std::size_t seeds = 2000;  // points that climb, drawn without replacement; all if there are fewer
  std::uint64_t seed = 0;    // of that draw
  double tolerance = 1e-6;   // distance of a mode to its limit (estimated), in bandwidths
  double merge = 0.1;        // ends closer than this, in bandwidths, are one mode
  std::size_t iterations = 10000;
  std::function<bool(std::size_t iteration, std::size_t climbing)> watch{};  // false: stop now
};

struct MeanShift {
  // Modes, the largest cluster first.
  std::vector<double> modes;          // count x dim
  std::vector<double> heights;        // K at the mode
  std::vector<std::size_t> sizes;     // points of each cluster
  std::vector<std::uint32_t> labels;  // of each point
  std::vector<std::uint32_t> seeds;   // points that climbed, ascending
  std::size_t iterations = 0;
  std::size_t climbing = 0;  // paths that had not arrived when iterations ran out
  bool stopped = false;      // by watch
  bool converged() const { return climbing == 0 && !stopped; }
};

/// A seed gets the mode that its own ascent reaches, every other point the nearest mode. Two seeds
/// within h/1000 that come closer still are followed as one: labels can differ from those of
/// separate ascents only for seeds that pass a watershed this closely. An end of an ascent may be a
/// saddle; so each is pushed by h/1000 and climbs again. Distinct modes are hardly ever closer than
/// about 2h (two equal bumps merge there), and ends of one mode differ by the tolerance: `merge`
/// lies between.
MeanShift mean_shift(std::span<const double> points, std::size_t dim,
                     const MeanShiftOptions& options);

/// The nearest mode of each point. modes: count x dim, at least one.
std::vector<std::uint32_t> nearest_modes(std::span<const double> points, std::size_t dim,
                                         std::span<const double> modes);

/// A bandwidth to begin with, for points of variance s^2 in each of d directions (d - 1 on the
/// sphere): the normal reference rule for gradients, h = s (4 / ((d + 4) n))^{1/(d + 6)} (Chacon,
/// Duong 2013), but at least so wide that three quarters of the points feel all others together as
/// much as themselves: with less, in high dimension, every point is a mode of its own. From at most
/// 500 points; 0 if all points coincide.
double reference_bandwidth(std::span<const double> points, std::size_t dim, bool on_sphere,
                           std::uint64_t seed);

}  // namespace attractor::depth
