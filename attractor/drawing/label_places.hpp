// Labels in a column, each as near as possible to where it would like to be, none over another:
//
//   minimise  sum (y_i - wish_i)^2   with   y_{i+1} - y_i >= (size_i + size_{i+1}) / 2,
//
// an isotonic regression, solved by pooling neighbours. O(n).
#pragma once

#include <vector>

namespace attractor::report {

struct LabelWish {
  double at = 0;    // of the middle
  double size = 0;  // gap to the next one included
};

/// Middles, in the order of the wishes, which must ascend; within [low, high] if they fit, else
/// from low on.
std::vector<double> label_places(const std::vector<LabelWish>& wishes, double low, double high);

}  // namespace attractor::report
