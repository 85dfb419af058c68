#include "attractor/kernels/moments/power_series.hpp"

#include <cassert>
#include <cmath>
#include <functional>
#include <limits>

namespace attractor::kernels {
namespace {

using Real = long double;
using Powers = std::vector<Real>;

/// e^{-beta} I_k(beta), k = 0 .. count, and phi_k: Phi = phi_0 / 2 + sum_k phi_k T_k.
struct Chebyshev {
  Powers bessel, phi;
};

// Ratios I_k / I_{k-1} = beta / (2k + beta I_{k+1} / I_k) downwards; I_0 + 2 I_1 + .. = e^beta.
Chebyshev chebyshev(Real beta, std::size_t count) {
  Powers inverse(count + 2, 0.0L);  // I_k / I_{k-1} / beta
  for (std::size_t k = count + 1; k > 0; --k)
    inverse[k] =
        1 / (2 * static_cast<Real>(k) + (k <= count ? beta * beta * inverse[k + 1] : 0.0L));
  Chebyshev c{Powers(count + 1, 1.0L), Powers(count + 1, 0.0L)};
  Real sum = 1;
  for (std::size_t k = 1; k <= count; ++k) {
    c.bessel[k] = c.bessel[k - 1] * beta * inverse[k];
    sum += 2 * c.bessel[k];
  }
  for (Real& b : c.bessel) b /= sum;
  for (std::size_t k = 1; k <= count; ++k) c.phi[k] = 2 * c.bessel[k - 1] * inverse[k];
  return c;
}

/// Coefficients of T_0 .. T_count in powers.
std::vector<Powers> chebyshev_powers(std::size_t count) {
  std::vector<Powers> t = {{1.0L}, {0.0L, 1.0L}};
  for (std::size_t k = 2; k <= count; ++k) {
    Powers next(k + 1, 0.0L);
    for (std::size_t i = 0; i < k; ++i) next[i + 1] = 2 * t[k - 1][i];
    for (std::size_t i = 0; i + 1 < k; ++i) next[i] -= t[k - 2][i];
    t.push_back(std::move(next));
  }
  return t;
}

/// So many powers that what Taylor's series leaves out is nothing.
std::size_t all_powers(double beta) {
  return kMostPowers / 2 + static_cast<std::size_t>(beta + 14 * std::sqrt(beta)) + 5;
}

struct Cut {
  std::size_t degree;
  Powers phi, psi;
  Real left_out;
};

/// Calls visit(cut) from the highest degree down to `lowest`.
void economise(double beta, std::size_t lowest, const std::function<void(const Cut&)>& visit) {
  const std::size_t top = std::max(all_powers(beta), kMostPowers);
  const Chebyshev series = chebyshev(beta, top + 2);
  const std::vector<Powers> t = chebyshev_powers(top);
  Cut cut{top, Powers(top + 1, 0.0L), Powers(top + 1, 0.0L), 0};
  Real term = std::exp(-static_cast<Real>(beta));  // e^{-beta} beta^{k-1} / (k-1)!
  for (std::size_t k = 1; k <= top; ++k) {
    cut.phi[k] = term / static_cast<Real>(k);
    cut.psi[k] = term;
    term *= beta / static_cast<Real>(k);
  }
  Real tail = 2 * (series.bessel[top + 1] + series.bessel[top + 2]);
  for (;; --cut.degree) {
    const std::size_t p = cut.degree;
    cut.left_out = series.bessel[p] + tail;
    visit(cut);
    if (p == lowest) return;
    tail += 2 * series.bessel[p];
    const Real psi = series.bessel[p - 1] + series.bessel[p + 1];
    for (std::size_t i = p % 2; i < p; i += 2) {
      cut.phi[i] -= series.phi[p] * t[p][i];
      cut.psi[i] -= psi * t[p][i];
    }
    cut.phi.pop_back();
    cut.psi.pop_back();
  }
}

Real absolute_sum(const Powers& powers) {
  Real sum = 0;
  for (const Real c : powers) sum += std::abs(c);
  return sum;
}

}  // namespace

PowerSeries power_series(double beta, std::size_t degree) {
  assert(degree >= 1 && degree <= kMostPowers && beta >= 0 && beta <= kMostPowerBeta);
  PowerSeries series;
  economise(beta, degree, [&](const Cut& cut) {
    if (cut.degree > degree) return;
    series.phi.assign(cut.phi.begin(), cut.phi.end());
    series.psi.assign(cut.psi.begin(), cut.psi.end());
  });
  return series;
}

double PowerErrors::at(std::size_t degree, double energy) const {
  return fixed[degree] + rounding[degree] * std::sqrt(energy);
}

std::size_t PowerErrors::degree(double error, double energy, std::size_t highest) const {
  std::size_t best = 1;
  for (std::size_t p = 1; p <= highest; ++p) {
    if (at(p, energy) <= error) return p;
    if (at(p, energy) < at(best, energy)) best = p;
  }
  return best;
}

// A gradient has factors p, tangent or not; Z is beta Phi. Coefficients that cancel are summed
// before they meet the tokens: half of their sum times epsilon has ten times the errors seen.
PowerErrors power_errors(double beta, std::size_t dim) {
  constexpr double kEps = std::numeric_limits<double>::epsilon();
  PowerErrors errors{std::vector<double>(kMostPowers + 1, 1.0),
                     std::vector<double>(kMostPowers + 1, 0.0)};
  economise(beta, 1, [&](const Cut& cut) {
    if (cut.degree > kMostPowers) return;
    const auto p = static_cast<double>(cut.degree);
    const Real sums = (p + beta) * absolute_sum(cut.phi) + absolute_sum(cut.psi);
    const double taylor = (p + beta) * (beta > 0 ? -std::expm1(-beta) / beta : 1) + 1;
    errors.fixed[cut.degree] = static_cast<double>(cut.left_out + 0.5 * kEps * sums);
    errors.rounding[cut.degree] = kEps * (6 + p / 2) * taylor * static_cast<double>(dim) / 2;
  });
  return errors;
}

// Gamma(d/2) (2/beta)^{d/2-1} I_{d/2-1}(beta) = sum_k (beta^2/4)^k / (k! (d/2)_k), times e^-beta.
double even_partition(double beta, std::size_t dim) {
  double term = std::exp(-beta), sum = term;
  for (double k = 1; term > 1e-17 * sum; ++k) {
    term *= beta * beta / 4 / (k * (0.5 * static_cast<double>(dim) + k - 1));
    sum += term;
  }
  return sum;
}

}  // namespace attractor::kernels
