#include "attractor/meanfield/equiangular_layers.hpp"

#include <fmt/format.h>

#include <limits>

#include "attractor/base/error.hpp"
#include "attractor/meanfield/equiangular_clock.hpp"

namespace attractor::meanfield {
namespace {

/// a and b of a layer's output a theta + b A, and whether it is normalised.
struct Mixture {
  double a, b;
  bool normalised;
};

Mixture mixture(const Equiangular& e, double depth, double step, double norm, double attention) {
  const double damped = step / std::sqrt(1 + depth);
  // The simplex at beta = 0: attention vanishes and has no direction to add.
  const double unit = attention > 0 ? step / attention : 0;
  switch (e.norm) {
    case Normalisation::post:
      return {1, step, true};
    case Normalisation::pre:
      return {norm, step, false};
    case Normalisation::mix: {
      // Depth is a multiple of the step, rounded.
      const bool post = depth < e.switch_time - 1e-9 * step;
      return {norm, step, post};
    }
    case Normalisation::peri:
    case Normalisation::sandwich:
      return {norm, unit, false};
    case Normalisation::ngpt:
      return {1 - step * e.alpha, unit * e.alpha, true};
    case Normalisation::ln_scaling:
      return {norm, damped, false};
    case Normalisation::damped_post:
      return {1, damped, true};
    case Normalisation::deepnorm:
      return {e.deepnorm_scale, step, true};
  }
  return {};
}

}  // namespace

std::vector<EquiangularLayer> layers(const Equiangular& e, double step, std::size_t count) {
  check(e);
  if (e.rule != Rule::softmax)
    throw Error("discrete layers need softmax attention (sa), not unnormalised (usa)");
  if (!(step >= 1e-9 && step <= 1e6))
    throw Error(fmt::format("step = {} is not allowed; allowed: 1e-9 to 1e6", step));
  const EquiangularCurve curve{e.tokens, e.beta};
  const double n = e.tokens;
  double x = curve.position(e.cosine0);
  if (e.cosine0 == -1 / (n - 1) || std::isnan(x)) x = -std::numeric_limits<double>::infinity();
  std::vector<EquiangularLayer> result = {{e.cosine0, std::log1p(-e.cosine0) + 0.0, 0}};
  result.reserve(count + 1);
  for (std::size_t k = 0; k < count; ++k) {
    const double exponent = e.beta * curve.gap(x), s = curve.sigma(x);
    const double others = std::exp(-exponent), total = 1 + (n - 1) * others;
    const double p = others / total, lead = -std::expm1(-exponent) / total;  // p_0 - p
    const auto squared = [&](double c1, double c2) { return c1 * c1 + (2 * c1 + n * c2) * c2 * s; };
    const Mixture m = mixture(e, static_cast<double>(k) * step, step, result.back().norm(),
                              std::sqrt(squared(lead, p)));
    const double c1 = m.a + m.b * lead, c2 = m.b * p;
    x += 2 * (c1 > 0 ? std::log1p(n * c2 / c1) : std::log(std::abs(1 + n * c2 / c1)));
    result.push_back(
        {curve.cosine(x), curve.log_gap(x), m.normalised ? 0 : std::log(squared(c1, c2)) / 2});
  }
  return result;
}

}  // namespace attractor::meanfield
