#include "attractor/training/head.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "attractor/base/error.hpp"
#include "attractor/space/space.hpp"

namespace attractor::training {
namespace {

constexpr std::pair<std::string_view, Activation> kNames[] = {
    {"identity", Activation::identity}, {"relu", Activation::relu},
    {"gelu", Activation::gelu},         {"tanh", Activation::tanh},
    {"softplus", Activation::softplus}, {"sin", Activation::sin}};

Activation one_named(std::string_view text) {
  for (const auto& [name, activation] : kNames)
    if (name == text) return activation;
  throw Error(fmt::format(
      "activation '{}' is unknown; allowed: identity, relu, gelu, tanh, softplus, sin, or one for "
      "each hidden unit, with commas",
      text));
}

double normal_cdf(double x) { return std::erfc(-x / std::numbers::sqrt2) / 2; }

double apply(Activation activation, double x) {
  switch (activation) {
    case Activation::identity:
    case Activation::relu:  // where it is on
      return x;
    case Activation::gelu:
      return x * normal_cdf(x);
    case Activation::tanh:
      return std::tanh(x);
    case Activation::softplus:
      return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
    case Activation::sin:
      return std::sin(x);
  }
  return x;
}

double slope(Activation activation, double x) {
  switch (activation) {
    case Activation::identity:
    case Activation::relu:  // where it is on
      return 1;
    case Activation::gelu:
      return normal_cdf(x) +
             x * std::exp(-x * x / 2) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
    case Activation::tanh:
      return 1 / (std::cosh(x) * std::cosh(x));
    case Activation::softplus:
      return 1 / (1 + std::exp(-x));
    case Activation::sin:
      return std::cos(x);
  }
  return 1;
}

// Only a ReLU can be off.
bool is_on(Activation activation, std::span<const signed char> on, std::size_t unit, double x) {
  if (activation != Activation::relu) return true;
  return on.empty() ? x > 0 : on[unit] > 0;
}

}  // namespace

Activations activation_named(std::string_view text) {
  Activations result;
  result.each.clear();
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    result.each.push_back(one_named(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return result;
}

std::string name(const Activations& activations) {
  std::string text;
  for (Activation activation : activations.each)
    for (const auto& [name, known] : kNames) {
      if (known != activation) continue;
      if (!text.empty()) text += ',';
      text += name;
    }
  return text;
}

bool Head::kinked() const {
  return std::find(activation.each.begin(), activation.each.end(), Activation::relu) !=
         activation.each.end();
}

std::vector<double> Head::inputs(std::span<const double> o) const {
  std::vector<double> h(o.begin(), o.end());
  if (!hidden.empty()) {
    h.resize(units());
    for (std::size_t k = 0; k < h.size(); ++k)
      h[k] = dot(std::span(hidden).subspan(k * o.size(), o.size()), o);
  }
  for (std::size_t k = 0; k < bias.size(); ++k) h[k] += bias[k];
  return h;
}

std::vector<double> Head::features(std::span<const double> o,
                                   std::span<const signed char> on) const {
  std::vector<double> h = inputs(o);
  for (std::size_t k = 0; k < h.size(); ++k)
    h[k] = is_on(activation.of(k), on, k, h[k]) ? apply(activation.of(k), h[k]) : 0;
  return h;
}

double Head::value(std::span<const double> o, std::span<const double> weights,
                   std::span<const signed char> on) const {
  return dot(features(o, on), weights) - penalty * dot(o, o);
}

std::vector<double> Head::gradient(std::span<const double> o, std::span<const double> weights,
                                   std::span<const signed char> on) const {
  const std::vector<double> h = inputs(o);
  std::vector<double> result(o.size());
  for (std::size_t b = 0; b < o.size(); ++b) result[b] = -2 * penalty * o[b];
  for (std::size_t k = 0; k < h.size(); ++k) {
    if (!is_on(activation.of(k), on, k, h[k])) continue;
    const double factor = weights[k] * slope(activation.of(k), h[k]);
    if (hidden.empty()) {
      result[k] += factor;
    } else {
      for (std::size_t b = 0; b < o.size(); ++b) result[b] += factor * hidden[k * o.size() + b];
    }
  }
  return result;
}

}  // namespace attractor::training
