#include "attractor/stability/ring_spectrum.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attractor/stability/sphere_spectrum.hpp"

namespace attractor::meanfield {
namespace {

/// The mean of e^{beta cos s kappa} cos a kappa over the ring, over I_0(beta), at a modulo n.
class AliasedSums {
 public:
  AliasedSums(std::size_t tokens, long long step, double beta)
      : count_(static_cast<long long>(tokens)), sums_(tokens, 0.0) {
    const SphereSpectrum bessel = resolved_spectrum(2, std::abs(beta), 1e-18);
    for (std::size_t l = 0; l < bessel.count(); ++l) {
      const double weight = beta < 0 && l % 2 == 1 ? -bessel.ratio[l] : bessel.ratio[l];
      const long long place = static_cast<long long>(l) * (step % count_);
      sums_[at(place)] += weight;
      if (l > 0) sums_[at(-place)] += weight;
    }
  }

  double operator[](long long a) const { return sums_[at(a)]; }

 private:
  std::size_t at(long long a) const {
    return static_cast<std::size_t>((a % count_ + count_) % count_);
  }

  long long count_;
  std::vector<double> sums_;
};

}  // namespace

std::vector<double> twisted_spectrum(const Ring& ring) {
  const auto n = static_cast<long long>(ring.tokens);
  const long long q = ring.twist % n, s = (q + ring.turn % n) % n;
  const AliasedSums mean(ring.tokens, s, ring.beta);
  // sin s kappa sin q kappa cos p kappa, by sums and differences of the angles.
  const auto cosines = [&](long long p) { return (mean[q + p] + mean[q - p]) / 2; };
  const auto sines = [&](long long p) {
    return (mean[s - q + p] + mean[s - q - p] - mean[s + q + p] - mean[s + q - p]) / 4;
  };
  std::vector<double> rates(ring.tokens, 0.0);
  for (long long p = 1; p < n; ++p)
    rates[static_cast<std::size_t>(p)] =
        (cosines(p) - cosines(0) - ring.beta * (sines(p) - sines(0))) / mean[0];
  return rates;
}

double fastest_growth(const Ring& ring) {
  const std::vector<double> rates = twisted_spectrum(ring);
  return ring.tokens > 1 ? *std::max_element(rates.begin() + 1, rates.end())
                         : -std::numeric_limits<double>::infinity();
}

}  // namespace attractor::meanfield
