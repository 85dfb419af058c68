// Three clusters on the circle, g_i the gap opposite to cluster i, g_1 + g_2 + g_3 = 2 pi and all
// below pi. With f(x) = e^{beta cos x} sin x they rest if their masses are as f(g_1) : f(g_2) :
// f(g_3), under SA and USA. A displacement then meets the stiffnesses (ln f)'(g_i) = h_i,
//
//   h = cot g - beta sin g,
//
// and returns if h_1 h_2 + h_2 h_3 + h_3 h_1 > 0 and h_1 + h_2 + h_3 > 0. Since the products of the
// cotangents sum to 1, the edge of stability is the root of a quadratic in b = -beta:
//
//   1 + b sum_{i != j} cot g_i sin g_j + b^2 sum_{i < j} sin g_i sin g_j = 0,
//
// the larger one, where the sum of the h is positive. Equal gaps have the double root b = 2/3.
// Two equal masses leave one unknown, the gap; of n equal tokens, as even as three clusters of them
// can be, at least two are equal.
#pragma once

#include <array>
#include <optional>

namespace attractor::meanfield {

struct ClusterTriangle {
  std::array<double, 3> gaps{};
  double beta = 0;
};

/// beta from which on, downward, clusters at rest with these gaps are stable; none without a root.
std::optional<double> triangle_edge(const std::array<double, 3>& gaps);
/// Masses, of sum 1, that rest with these gaps.
std::array<double, 3> resting_masses(const ClusterTriangle& triangle);
/// The edge next to 0 for masses pair, pair and third (in any unit), the third cluster facing the
/// last gap; none if there is none.
std::optional<ClusterTriangle> isosceles_edge(double pair, double third);

}  // namespace attractor::meanfield
