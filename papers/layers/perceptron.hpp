// One fixed perceptron of six neurons on the circle whose output weights are multiples of its input
// weights: F(x) = sum_j w_j a_j relu(<a_j, x>) is the gradient of U(x) = sum_j w_j relu(<a_j, x>)^2
// / 2.
#pragma once

#include <vector>

#include "attractor/depth/feed_forward.hpp"

namespace attractor::papers {

depth::FeedForward perceptron();
/// U at (x, y).
double potential(const depth::FeedForward& f, double x, double y);
/// Angles of the local maxima of U, on a grid of 1e-4.
std::vector<double> maxima(const depth::FeedForward& f);

}  // namespace attractor::papers
