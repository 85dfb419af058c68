// What is said of the pairs of tokens, however they are counted (pairs.hpp, circle_pairs.hpp). With
// fewer than two originals there is no pair, and it says consensus.
#pragma once

#include <array>
#include <cstddef>

namespace attractor::observe {

inline constexpr std::size_t kCosineBins = 100;

struct PairStatistics {
  double fraction = 1;        // of pairs with cosine >= threshold
  double fraction_error = 0;  // its standard error, and what may be unseen; 0: exact
  double smallest_cosine = 1;
  double largest_angle = 0;  // in radians; the angle of that cosine
  /// Fractions of pairs; bin b is [-1 + b/50, -1 + (b+1)/50), the last one closed. A cosine that
  /// misses an edge by rounding (2e-11) counts as on the edge.
  std::array<double, kCosineBins> histogram{};
  bool sampled = false;            // the histogram is an estimate; the fraction too, if in error
  bool smallest_is_bound = false;  // smallest_cosine belongs to some pair: the true one is <= it
};

}  // namespace attractor::observe
