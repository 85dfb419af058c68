#include "attractor/stability/sphere_spectrum.hpp"

#include <cassert>
#include <cmath>

#include "attractor/base/numbers.hpp"

namespace attractor::meanfield {
namespace {

/// I_{nu+1}/I_nu to a few per cent or better, never above 1 (Amos 1974).
double estimate(double nu, double beta) {
  return beta / (nu + 0.5 + std::sqrt((nu + 1.5) * (nu + 1.5) + beta * beta));
}

/// An error in the ratio at the end of the list shrinks by ratio^2 in each step down.
std::size_t start_above(double nu, double beta) {
  std::size_t steps = 1;
  for (double shrink = 1; shrink > 1e-18; ++steps) {
    const double ratio = estimate(nu + static_cast<double>(steps), beta);
    shrink *= ratio * ratio;
  }
  return steps;
}

/// I_{nu+1}/(beta I_nu) for nu = d/2 - 1 + l, l = 0 .. count-1.
std::vector<double> bessel_ratios(std::size_t dim, double beta, std::size_t count) {
  const double first = static_cast<double>(dim) / 2 - 1;
  const auto order = [&](std::size_t l) { return first + static_cast<double>(l); };
  std::vector<double> ratios(count);
  const std::size_t top = count + start_above(order(count), beta);
  double ratio = estimate(order(top), beta);
  for (std::size_t l = top; l-- > 0;) {  // r_{nu-1} = beta / (2 nu + beta r_nu)
    const double over_beta = 1 / (2 * order(l + 1) + beta * ratio);
    ratio = beta * over_beta;
    if (l < count) ratios[l] = over_beta;
  }
  return ratios;
}

/// N(d,l+1)/N(d,l).
double harmonics_ratio(std::size_t dim, std::size_t degree) {
  const double d = static_cast<double>(dim), l = static_cast<double>(degree);
  return degree == 0 ? d : (2 * l + d) / (2 * l + d - 2) * ((l + d - 2) / (l + 1));
}

/// ln sum_l N(d,l) lambda_l/lambda_0.
double log_sum(std::size_t dim, double beta) {
  constexpr double kLarge = 1e250;
  double sum = 1, term = 1, log_factor = 0;
  std::size_t degree = 0;
  // Terms rise to one maximum and then fall; blocks of ratios are computed as they are needed.
  for (std::size_t count = 64;; count *= 2) {
    const std::vector<double> ratios = bessel_ratios(dim, beta, count);
    for (; degree < count; ++degree) {
      const double growth = harmonics_ratio(dim, degree) * beta * ratios[degree];
      term *= growth;
      sum += term;
      if (growth < 1 && term < 1e-18 * (1 - growth) * sum) return std::log(sum) + log_factor;
      if (sum > kLarge) {
        sum /= kLarge;
        term /= kLarge;
        log_factor += std::log(kLarge);
      }
    }
  }
}

}  // namespace

double SphereSpectrum::lambda0() const { return std::exp(beta + log_scale); }

SphereSpectrum sphere_spectrum(std::size_t dim, double beta, std::size_t count) {
  assert(dim >= 2 && beta >= 0 && std::isfinite(beta) && count >= 1);
  SphereSpectrum s{.dim = dim, .beta = beta, .ratio = {1.0}, .pull = {}, .log_scale = 0};
  s.pull.push_back(beta > 0 ? 1 / beta : kInfinity);
  s.log_scale = -log_sum(dim, beta);
  const std::vector<double> ratios = bessel_ratios(dim, beta, count);
  for (std::size_t l = 0; l + 1 < count; ++l) {
    s.pull.push_back(s.ratio[l] * ratios[l]);
    s.ratio.push_back(s.pull.back() * beta);
  }
  return s;
}

SphereSpectrum resolved_spectrum(std::size_t dim, double beta, double smallest) {
  for (std::size_t count = 64;; count *= 2) {
    SphereSpectrum s = sphere_spectrum(dim, beta, count);
    for (std::size_t l = 2; l < count; ++l) {
      if (s.ratio[l] >= smallest) continue;
      s.ratio.resize(l);
      s.pull.resize(l);
      return s;
    }
  }
}

double laplacian(std::size_t dim, std::size_t degree) {
  const double l = static_cast<double>(degree);
  return l * (l + static_cast<double>(dim) - 2);
}

}  // namespace attractor::meanfield
