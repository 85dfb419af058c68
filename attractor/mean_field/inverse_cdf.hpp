// The quantile function of a positive density on an interval, which need not be normalised. The
// integral is tabulated over equal panels by a Gauss rule; inside a panel Newton's method, kept in
// brackets, works on the same rule from the panel's start. So small probabilities keep their
// relative accuracy at the lower end, and 1e-15 absolute accuracy holds if a panel is shorter than
// the density's own length scale. Cost of a quantile: about thirty density values.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace attractor::meanfield {

class InverseCdf {
 public:
  InverseCdf(std::function<double(double)> density, double low, double high, std::size_t panels);

  /// x with CDF(x) = u, 0 < u < 1.
  double operator()(double u) const;

 private:
  std::function<double(double)> density_;
  double low_, width_;
  std::vector<double> cumulative_;  // at the panel ends, 0 first
};

}  // namespace attractor::meanfield
