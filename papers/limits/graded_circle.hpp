// Even densities on the circle as weighted angles that crowd around pi: what is left over at the
// antipode of a cluster decides how fast the rest is one, and needs angles pi - u down to tiny u.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "papers/entry.hpp"

namespace attractor::papers {

struct GradedCircle {
  std::vector<double> angles{}, weights{};  // of both halves; of sum one
};

/// density(theta) relative to uniform, even. `count` angles on each half, pi - u with u evenly
/// spaced in ln from `nearest` to pi: the trapezoidal rule in ln tan(u/4), exact to rounding.
GradedCircle graded_circle(const std::function<double(double)>& density, std::size_t count,
                           double nearest);

std::vector<double> angles_on_circle(std::span<const double> positions);  // of n x 2

/// W_2 to the point at angle 0: root mean square of angles.
double spread_about_zero(std::span<const double> angles, std::span<const double> weights);

/// The angles at rising times.
std::vector<std::vector<double>> circle_walk(Rule rule, double beta, const GradedCircle& start,
                                             const std::vector<double>& times, const Effort& effort,
                                             double tolerance = 1e-11);

}  // namespace attractor::papers
