// Directions of weights, and how far apart weights are.
#pragma once

#include <span>

namespace attractor::papers {

double cosine(std::span<const double> a, std::span<const double> b);
/// Of the first two coordinates, radians.
double angle(std::span<const double> p);
/// |a - b| over the coordinates of b.
double apart(std::span<const double> a, std::span<const double> b);

}  // namespace attractor::papers
