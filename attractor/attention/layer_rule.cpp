#include "attractor/attention/layer_rule.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <limits>
#include <vector>

#include "attractor/base/error.hpp"

namespace attractor {
namespace {

template <typename Choices>
auto named(const char* what, std::string_view wanted, const Choices& choices) {
  std::vector<std::string_view> names;
  for (const auto choice : choices) {
    if (name(choice) == wanted) return choice;
    names.push_back(name(choice));
  }
  throw Error(fmt::format("{} '{}' is unknown; allowed: {}", what, wanted, fmt::join(names, ", ")));
}

}  // namespace

LayerRule layer_rule_named(std::string_view wanted) {
  return named("rule of attention", wanted, kLayerRules);
}

RadialKernel radial_kernel_named(std::string_view wanted) {
  return named("radial kernel", wanted, kRadialKernels);
}

std::string_view name(LayerRule rule) {
  switch (rule) {
    case LayerRule::softmax:
      return "sa";
    case LayerRule::unnormalised:
      return "usa";
    case LayerRule::hardmax:
      return "hardmax";
    case LayerRule::sinkhorn:
      return "sinkhorn";
    case LayerRule::linear:
      return "linear";
    case LayerRule::relu:
      return "relu";
    case LayerRule::radial:
      return "radial";
  }
  return "unknown";
}

std::string_view name(RadialKernel kernel) {
  switch (kernel) {
    case RadialKernel::gaussian:
      return "gaussian";
    case RadialKernel::laplace:
      return "laplace";
    case RadialKernel::cauchy:
      return "cauchy";
    case RadialKernel::epanechnikov:
      return "epanechnikov";
    case RadialKernel::indicator:
      return "indicator";
  }
  return "unknown";
}

double log_kernel(RadialKernel kernel, double beta, double squared_distance) {
  constexpr double kOutside = -std::numeric_limits<double>::infinity();
  switch (kernel) {
    case RadialKernel::gaussian:
      return -beta * squared_distance / 2;
    case RadialKernel::laplace:
      return -beta * std::sqrt(squared_distance);
    case RadialKernel::cauchy:
      return -std::log1p(beta * squared_distance);
    case RadialKernel::epanechnikov: {
      const double lost = beta * squared_distance / 2;
      return lost < 1 ? std::log1p(-lost) : kOutside;
    }
    case RadialKernel::indicator:
      return beta * squared_distance <= 1 ? 0 : kOutside;
  }
  return kOutside;
}

}  // namespace attractor
