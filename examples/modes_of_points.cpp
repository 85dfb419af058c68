// Mean shift of one's own points: x <- sum_j w_j x_j / sum_j w_j, w_j = e^{-beta |x - x_j|^2 / 2},
// climbs to the modes of their density. Points in the corners of a square of half side a: the
// density is a product of two coordinates, so its modes are (+-m, +-m), where
//
//   m = a tanh(beta a m),   and m = 0 alone if beta a^2 <= 1: the corners have become one cluster.
#include <fmt/format.h>

#include <cmath>

#include "attractor/attractor.hpp"

int main() {
  using namespace attractor;
  bool right = true;
  for (const double a : {2.0, 1.2, 1.05, 0.9}) {
    const std::vector<double> points = {a, a, -a, a, a, -a, -a, -a};
    const depth::MeanShift found = depth::mean_shift(points, 2, {.beta = 1, .tolerance = 1e-9});

    double m = a;
    for (int k = 0; k < 10'000; ++k) m = a * std::tanh(a * m);
    if (a <= 1) m = 0;
    fmt::print("a = {:4}   {} mode{}   |coordinate| {:.9f}   exact {:.9f}   after {} steps\n", a,
               found.sizes.size(), found.sizes.size() == 1 ? " " : "s", std::abs(found.modes[0]), m,
               found.iterations);
    right = right && found.converged() && found.sizes.size() == (m > 0 ? 4 : 1);
    for (const double coordinate : found.modes)
      right = right && std::abs(std::abs(coordinate) - m) < 1e-8;
  }
  return right ? 0 : 1;
}
