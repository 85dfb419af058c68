// Are all tokens in one open hemisphere, and how deep? With z* the point of smallest norm in the
// convex hull of the tokens (solve/min_norm_point.hpp),
//
//   some w has <x_i, w> > 0 for all i   iff   |z*| > 0,
//
// and w = z*/|z*| is the deepest such pole: min_i <x_i, w> = |z*| = max_{|w|=1} min_i <x_i, w>.
// From a hemisphere every attention flow with V = I converges exponentially to one cluster; for n
// uniform tokens it has probability 2^{1-n} sum_{k<d} C(n-1, k) (Wendel 1962), so 1 if n <= d.
// `inside` is certified by the pole itself. A depth below 1e-12 of the longest token cannot be told
// from zero and counts as not inside. Cost: n dim for each of typically 1 to 3 dim iterations.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace attractor::observe {

struct Hemisphere {
  bool inside = false;
  double depth = 0;            // min_i <x_i, pole> if inside, else 0
  std::vector<double> pole{};  // unit vector; empty if not inside
  bool decided = true;         // false: the solver gave up first, and `inside` is false
};

/// Tokens: n x dim, row-major, n >= 1. Masses do not matter.
Hemisphere hemisphere(std::span<const double> tokens, std::size_t dim);

}  // namespace attractor::observe
