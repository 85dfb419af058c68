#include "attractor/stability/stability.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/tools/roots.hpp>
#include <cmath>
#include <numbers>
#include <utility>

#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/stability/sphere_spectrum.hpp"

namespace attractor::meanfield {
namespace {

constexpr double kNegligible = 1e-22;  // of lambda_l / lambda_0
constexpr std::size_t kMostDim = 10'000;
constexpr double kMostBeta = 1e6;

void check_dim(std::size_t dim) {
  if (dim < 2 || dim > kMostDim)
    throw Error(fmt::format("dimension {} is not allowed; allowed: 2 to {}", dim, kMostDim));
}

void check_beta(double beta, double least) {
  if (!(beta >= least && beta <= kMostBeta))
    throw Error(fmt::format("beta = {} is not allowed; allowed: {} to {}", beta, least, kMostBeta));
}

SphereSpectrum spectrum_of(std::size_t dim, double beta, std::size_t modes) {
  SphereSpectrum s = resolved_spectrum(dim, beta, kNegligible);
  const std::size_t count = std::max(modes, std::size_t{2}) + 1;
  return s.count() < count ? sphere_spectrum(dim, beta, count) : s;
}

/// ln(lambda_l / beta), where lambda_l itself underflows too: on S^{d+2l-1} the same Bessel
/// function is lambda_0.
double log_pull(std::size_t dim, double beta, std::size_t degree) {
  const double half = static_cast<double>(dim) / 2, l = static_cast<double>(degree);
  const double log_lambda0 = beta + sphere_spectrum(dim + 2 * degree, beta, 1).log_scale;
  return log_lambda0 + std::lgamma(half) - std::lgamma(half + l) + l * std::log(beta / 2) -
         std::log(beta);
}

/// ln(lambda_l / beta) to leading order in 1/(l + d + beta) (Debye).
double rough_log_pull(std::size_t dim, double beta, double degree) {
  const double half = static_cast<double>(dim) / 2, nu = half - 1 + degree;
  const double root = std::hypot(nu, beta);
  const double log_bessel =
      root - nu * std::asinh(nu / beta) - std::log(2 * std::numbers::pi * root) / 2;
  return std::lgamma(half) + (half - 1) * std::log(2 / beta) + log_bessel - std::log(beta);
}

/// The last degree >= 1 for which `grows` holds: degree 1 grows, and none after one that does not.
template <class Grows>
std::size_t last_growing(const Grows& grows, std::size_t guess) {
  std::size_t below = guess, above = guess + 1;
  for (std::size_t reach = 1; below > 1 && !grows(below); reach *= 2) {
    above = below;
    below -= std::min(below - 1, reach);
  }
  for (std::size_t reach = 1; above > guess && grows(above); reach *= 2) {
    below = above;
    above += reach;
  }
  while (above - below > 1) {
    const std::size_t middle = below + (above - below) / 2;
    (grows(middle) ? below : above) = middle;
  }
  return below;
}

/// The last degree that grows: the last one with lambda_l/beta > kappa, s being that of |beta|.
std::size_t last_unstable(const UniformState& state, const SphereSpectrum& s, double noise) {
  if (s.pull[1] <= noise) return 0;
  if (s.beta == 0) return 1;
  if (state.noise == 0) return kEveryMode;
  const double level =
      std::log(state.noise) + (state.rule == Rule::softmax ? s.beta + s.log_scale : 0.0);
  // An exact eigenvalue costs O(l): look for the last one near where it should be.
  double low = 1, high = 2;
  while (rough_log_pull(s.dim, s.beta, high) > level) high *= 2;
  while (high - low > 0.5) {
    const double middle = low + (high - low) / 2;
    (rough_log_pull(s.dim, s.beta, middle) > level ? low : high) = middle;
  }
  return last_growing([&](std::size_t l) { return log_pull(s.dim, s.beta, l) > level; },
                      static_cast<std::size_t>(low));
}

}  // namespace

double Stability::growth(std::size_t degree) const {
  return rate[degree] == 0 ? 0.0 : rate[degree] * std::exp(log_unit);
}

double Stability::log_growth(std::size_t degree) const {
  return rate[degree] > 0 ? std::log(rate[degree]) + log_unit : kNan;
}

double Stability::critical_noise() const { return critical * std::exp(log_unit); }
double Stability::log_critical_noise() const { return std::log(critical) + log_unit; }

double Stability::runner_up_ratio() const {
  return is_unstable() ? rate[runner_up] / rate[fastest] : kNan;
}

Stability stability(const UniformState& state, std::size_t modes) {
  check_dim(state.dim);
  check_beta(state.beta, -kMostBeta);
  if (!(state.noise >= 0 && std::isfinite(state.noise)))
    throw Error(fmt::format("noise = {} is not allowed; allowed: 0 or more, finite", state.noise));
  SphereSpectrum s = spectrum_of(state.dim, std::abs(state.beta), modes);
  const bool negative = state.beta < 0;
  Stability result;
  result.log_unit = state.rule == Rule::softmax ? 0.0 : s.beta + s.log_scale;
  const double noise = state.noise * std::exp(-result.log_unit);
  const std::size_t last = last_unstable(state, s, noise);
  result.unstable = negative && last != kEveryMode ? (last + 1) / 2 : last;
  for (std::size_t l = 2; negative && l < s.count(); l += 2) s.pull[l] = -s.pull[l];
  result.rate.assign(s.count(), 0.0);
  for (std::size_t l = 1; l < s.count(); ++l)
    result.rate[l] = laplacian(state.dim, l) * (s.pull[l] - noise);
  const auto faster = [&](std::size_t a, std::size_t b) { return result.rate[a] > result.rate[b]; };
  for (std::size_t l = 2; l < s.count(); ++l) {
    if (faster(l, result.fastest))
      result.runner_up = std::exchange(result.fastest, l);
    else if (l == 2 || faster(l, result.runner_up))
      result.runner_up = l;
  }
  result.critical = s.pull[1];
  return result;
}

double fastest_mode_rule(std::size_t dim, double beta) {
  const double gap = static_cast<double>(dim) - 2;
  const double size = std::abs(beta);
  return size == 0 ? 0.0 : 4 * size / (gap + std::sqrt(gap * gap + 8 * size));
}

std::vector<double> equispaced_rates(Rule rule, double beta, std::size_t tokens) {
  check_beta(beta, 0);
  if (tokens < 1 || tokens > 10'000'000)
    throw Error(fmt::format("{} tokens are not allowed; allowed: 1 to 10000000", tokens));
  const SphereSpectrum s = spectrum_of(2, beta, 0);
  // k^2 I_k and I_k, summed over what an equispaced grid takes for wave number k.
  const auto aliased = [&](std::size_t k, const auto& term) {
    double sum = 0;
    for (std::size_t j = k; j < s.count(); j += tokens) sum += term(j);
    for (std::size_t j = tokens - k; j < s.count(); j += tokens) sum += term(j);
    return sum;
  };
  const auto stiffness = [&](std::size_t k) { return laplacian(2, k) * s.pull[k]; };
  const auto weight = [&](std::size_t k) { return s.ratio[k]; };
  const double self = aliased(0, stiffness);
  const double partition = rule == Rule::softmax ? aliased(0, weight) : 1.0;
  std::vector<double> rates(tokens / 2 + 1, 0.0);
  for (std::size_t k = 1; k < rates.size(); ++k)
    rates[k] = (aliased(k, stiffness) - self) / partition;
  return rates;
}

double expected_density_maxima(double beta, double e_foldings) {
  check_beta(beta, -kMostBeta);
  if (!(e_foldings >= 0 && std::isfinite(e_foldings)))
    throw Error(
        fmt::format("{} e-foldings are not allowed; allowed: 0 or more, finite", e_foldings));
  const SphereSpectrum s = spectrum_of(2, std::abs(beta), 0);
  const Stability growth = stability({.beta = beta});
  double slope = 0, curvature = 0;
  for (std::size_t k = s.count(); k-- > 1;) {
    const double behind = growth.rate[k] / growth.rate[growth.fastest] - 1;
    const double amplitude = s.pull[k] * std::exp(e_foldings * behind);
    const double square = laplacian(2, k) * amplitude * amplitude;
    slope += square;
    curvature += laplacian(2, k) * square;
  }
  return std::sqrt(curvature / slope);
}

double tricritical_beta(std::size_t dim) {
  check_dim(dim);
  const auto excess = [&](double beta) {
    const SphereSpectrum s = sphere_spectrum(dim, beta, 3);
    return static_cast<double>(dim) * s.ratio[2] / s.ratio[1] - 1;
  };
  std::uintmax_t iterations = 100;
  const auto [low, high] = boost::math::tools::toms748_solve(
      excess, 0.5, 4.0, boost::math::tools::eps_tolerance<double>(52), iterations);
  return low + (high - low) / 2;
}

}  // namespace attractor::meanfield
