// Blurring mean shift: the points move in the density of themselves,
//
//   R^d:  x_i <- m(x_i)          sphere:  x_i <- m(x_i) / |m(x_i)|          for all i at once
//
// with m of kernel_density.hpp for the points as they are now (Fukunaga, Hostetler 1975; Carreira-
// Perpinan 2006). It is a layer of softmax attention, x_i <- sum_j P_ij x_j. Points of a cluster
// come together at a cubic rate; the clusters themselves approach each other, slowly, and would be
// one in the end. So it ends with the first step that moves no point farther than `tolerance`
// bandwidths: two clusters of equal size that are more than about 4 bandwidths apart stay two.
// Cost of a step: one evaluation of the density at every point.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace attractor::depth {

struct BlurringOptions {
  double beta = 1;
  bool on_sphere = false;   // points are unit vectors
  double tolerance = 1e-3;  // in bandwidths
  double merge = 0.1;  // points connected by distances up to this, in bandwidths, are a cluster
  std::size_t iterations = 1000;
  std::function<bool(std::size_t iteration)> watch{};  // false: stop now
};

struct Blurring {
  // Clusters, the largest first; among equals the one of the first point.
  std::vector<double> centres;        // count x dim: means of where their points are now
  std::vector<std::size_t> sizes;     // points of each
  std::vector<std::uint32_t> labels;  // of each point
  std::vector<double> points;         // where they are now
  std::size_t iterations = 0;
  bool gathered = false;  // else iterations ran out, or watch stopped it
};

Blurring blurring_mean_shift(std::span<const double> points, std::size_t dim,
                             const BlurringOptions& options);

}  // namespace attractor::depth
