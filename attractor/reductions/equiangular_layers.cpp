#include "attractor/reductions/equiangular_layers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/reductions/equiangular_clock.hpp"

namespace attractor::meanfield {
namespace {

/// a and b of a layer's output a theta + b A, and whether it is normalised.
struct Mixture {
  double a, b;
  bool normalised;
};

Mixture mixture(const Equiangular& e, double depth, double step, double norm, double attention) {
  const Scheme& row = scheme(e.norm);
  // Depth is a multiple of the step, rounded.
  const bool early = row.switches && depth < e.switch_time - 1e-9 * step;
  double added = step;
  // The simplex at beta = 0: attention vanishes and has no direction to add.
  if (row.unit) added = attention > 0 ? step / attention : 0;
  switch (row.pace) {
    case Pace::steady:
      return {norm, added, early || !row.grows};
    case Pace::damped:
      return {norm, added / std::sqrt(1 + depth), !row.grows};
    case Pace::alpha:
      return {1 - step * e.alpha, added * e.alpha, true};
    case Pace::scaled:
      return {e.deepnorm_scale, added, true};
  }
  return {};
}

/// Attention of a token: `each` on every other one, `lead` more on itself.
struct Shares {
  double each, lead;
};

Shares shares(double exponent, double tokens, double dimension) {
  double tilt = 0, pull = exponent;  // kappa, tau - ln M
  if (std::isfinite(dimension)) {
    const double tau = std::min(exponent, 1e300), a = dimension / 2, q = std::hypot(tau, a);
    tilt = tau / (a + q);
    // q - a = tau kappa; nothing cancels where tau is small.
    pull = a * (1 + tilt) * (tau / (tau + q)) + a * std::log1p(tau * tilt / dimension);
  }
  const double others = std::exp(-pull);
  const double total = 1 + (tokens - 1) * others, each = others / total;
  return {each * (1 - tilt), -std::expm1(-pull) / total + tokens * each * tilt};
}

}  // namespace

std::vector<EquiangularLayer> layers(const Equiangular& e, double step, std::size_t count,
                                     double dimension) {
  check(e);
  if (e.rule != Rule::softmax)
    throw Error("discrete layers need softmax attention (sa), not unnormalised (usa)");
  if (!(step >= 1e-9 && step <= 1e6))
    throw Error(fmt::format("step = {} is not allowed; allowed: 1e-9 to 1e6", step));
  if (!(dimension >= 2))
    throw Error(fmt::format("dimension = {} is not allowed; allowed: 2 or more", dimension));
  const EquiangularCurve curve{e.tokens, e.beta};
  const double n = e.tokens;
  double x = curve.position(e.cosine0);
  if (e.cosine0 == -1 / (n - 1) || std::isnan(x)) x = -kInfinity;
  std::vector<EquiangularLayer> result = {{e.cosine0, std::log1p(-e.cosine0) + 0.0, 0}};
  result.reserve(count + 1);
  for (std::size_t k = 0; k < count; ++k) {
    const double seen = scheme(e.norm).sees_length ? 2 * result.back().log_norm : 0;
    const double exponent = e.beta * std::exp(seen) * curve.gap(x), s = curve.sigma(x);
    const auto [p, lead] = shares(exponent, n, dimension);
    const auto squared = [n, s](double c1, double c2) {
      return c1 * c1 + (2 * c1 + n * c2) * c2 * s;
    };
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
