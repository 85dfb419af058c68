// Pricing: which rows of <g_j, p> >= h_j an active-set method takes in next. Of every group the row
// from whose half-space p is farthest, (h_j + lift |g_j| - <g_j, p>) / |g_j|; the worst groups
// first.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "attractor/solve/constraints.hpp"

namespace attractor::solve {

/// A violation below this, relative, is none.
inline constexpr double kRounding = 4 * std::numeric_limits<double>::epsilon();
/// Rows that a method keeps for the next round, over dim: those that were violated once tend to be
/// so again; their number bounds memory and pricing.
inline constexpr std::size_t kHeld = 4;

class Pricing {
 public:
  /// Views of the constraints and of |g_j|.
  Pricing(const Constraints& constraints, std::span<const double> norms)
      : constraints_(constraints), norms_(norms), products_(constraints.size()) {}

  /// At most 2 dim rows, or 64, without the active ones.
  std::vector<std::size_t> worst(std::span<const double> p, std::span<const std::size_t> active,
                                 double lift = 0);

 private:
  const Constraints& constraints_;
  std::span<const double> norms_;
  std::vector<double> products_;
};

}  // namespace attractor::solve
