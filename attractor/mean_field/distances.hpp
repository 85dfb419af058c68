// How far two laws are apart. Wasserstein-1 in one dimension is the area between distribution
// functions,
//
//   W_1 = int |F - G| dx  on a line,    W_1 = min_a int |F - G - a| d theta  on the circle,
//
// where the best a is a median of F - G (weighted by length). Both are exact for weighted points,
// in O(n log n). A density enters as its markers or labels: N equal labels are within a quarter of
// their mean distance, pi/2N on the circle, of the law.
#pragma once

#include <span>

namespace attractor::meanfield {

struct WeightedSet {
  std::span<const double> points;
  std::span<const double> weights;  // of sum one; empty: equal
};

/// On the line (heights).
double line_distance(const WeightedSet& a, const WeightedSet& b);

/// On the circle; angles of any size.
double circle_distance(const WeightedSet& a, const WeightedSet& b);

}  // namespace attractor::meanfield
