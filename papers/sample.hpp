// Statistics of a sample.
#pragma once

#include <span>
#include <vector>

namespace attractor::papers {

double mean(std::span<const double> values);
/// Of the mean: sample deviation over the root of the count.
double standard_error(std::span<const double> values);

/// Both; a single value has no error.
struct Sampled {
  double mean = 0, error = 0;
};
Sampled sampled(std::span<const double> values);

/// The value below which a share of them lies, by linear interpolation.
double quantile(std::vector<double> values, double share);
/// Least squares of y in x.
double slope(std::span<const double> x, std::span<const double> y);

}  // namespace attractor::papers
