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
      return x;
    case Activation::relu:
      return x > 0 ? x : 0;
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
      return 1;
    case Activation::relu:
      return x > 0 ? 1 : 0;
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

// U o + b.
std::vector<double> hidden_inputs(const Head& head, std::span<const double> o) {
  std::vector<double> h(o.begin(), o.end());
  if (!head.hidden.empty()) {
    h.resize(head.units());
    for (std::size_t k = 0; k < h.size(); ++k)
      h[k] = dot(std::span(head.hidden).subspan(k * o.size(), o.size()), o);
  }
  for (std::size_t k = 0; k < head.bias.size(); ++k) h[k] += head.bias[k];
  return h;
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
    for (const auto& [name, known] : kNames)
      if (known == activation) text += (text.empty() ? "" : ",") + std::string(name);
  return text;
}

std::vector<double> Head::features(std::span<const double> o) const {
  std::vector<double> h = hidden_inputs(*this, o);
  for (std::size_t k = 0; k < h.size(); ++k) h[k] = apply(activation.of(k), h[k]);
  return h;
}

double Head::value(std::span<const double> o, std::span<const double> weights) const {
  return dot(features(o), weights) - penalty * dot(o, o);
}

std::vector<double> Head::gradient(std::span<const double> o,
                                   std::span<const double> weights) const {
  const std::vector<double> h = hidden_inputs(*this, o);
  std::vector<double> result(o.size());
  for (std::size_t b = 0; b < o.size(); ++b) result[b] = -2 * penalty * o[b];
  for (std::size_t k = 0; k < h.size(); ++k) {
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
