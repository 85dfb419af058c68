// Points of R^dim, row after row.
#pragma once

#include <cstddef>
#include <span>

namespace attractor::papers {

std::span<const double> row(std::span<const double> points, std::size_t dim, std::size_t index);
/// Points farther than `radius` from all earlier ones: how many values there are.
std::size_t distinct(std::span<const double> points, std::size_t dim, double radius);
/// The largest distance between points of the same number; NaN where one is missing or no number.
double largest_distance(std::span<const double> a, std::span<const double> b, std::size_t dim);

}  // namespace attractor::papers
