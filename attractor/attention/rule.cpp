#include "attractor/attention/rule.hpp"

#include <cmath>

#include "attractor/base/numbers.hpp"

namespace attractor {

std::span<const std::string_view> names(Rule) {
  static constexpr std::string_view kNames[] = {"sa",     "usa",  "hardmax", "sinkhorn",
                                                "linear", "relu", "radial"};
  return kNames;
}

std::span<const std::string_view> names(RadialKernel) {
  static constexpr std::string_view kNames[] = {"gaussian", "laplace", "cauchy", "epanechnikov",
                                                "indicator"};
  return kNames;
}

double log_kernel(RadialKernel kernel, double beta, double squared_distance) {
  switch (kernel) {
    case RadialKernel::gaussian:
      return -beta * squared_distance / 2;
    case RadialKernel::laplace:
      return -beta * std::sqrt(squared_distance);
    case RadialKernel::cauchy:
      return -std::log1p(beta * squared_distance);
    case RadialKernel::epanechnikov: {
      const double lost = beta * squared_distance / 2;
      return lost < 1 ? std::log1p(-lost) : -kInfinity;
    }
    case RadialKernel::indicator:
      return beta * squared_distance <= 1 ? 0 : -kInfinity;
  }
  return -kInfinity;
}

}  // namespace attractor
