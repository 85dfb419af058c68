#include "attractor/reductions/regular_clusters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"

namespace attractor::meanfield {
namespace {

using std::numbers::pi;
constexpr std::uint64_t kMost = 4096;

void check_count(std::uint64_t count) {
  if (count < 2 || count > kMost)
    throw Error(fmt::format("count = {} clusters are not allowed; allowed: 2 to {}", count, kMost));
}

void check(const RegularClusters& clusters) {
  if (!(clusters.beta >= -20 && clusters.beta <= 1e6))
    throw Error(fmt::format("beta = {} is not allowed; allowed: -20 to 1e6", clusters.beta));
  check_count(clusters.count);
}

double square(double x) { return x * x; }
/// sin^2(pi m/k), m in [0, k], equal bits for m and k - m.
double sine_squared(std::uint64_t m, std::uint64_t k) {
  return square(std::sin(pi * static_cast<double>(std::min(m, k - m)) / static_cast<double>(k)));
}

// ---- Polygon. Rates in units of e^{beta cos(2 pi/k)} / D.

/// A sum and the sum of its absolute terms, to which its rounding error is proportional.
struct Sum {
  double value = 0, size = 0;
};

/// sum_l -f'(x_l) 2 sin^2(pi j l/k) / e^{beta cos x_1}.
std::vector<Sum> sums_over_neighbours(double beta, std::uint64_t k) {
  std::vector<double> half(k), stiffness(k);  // sin^2(x_l/2); -f'(x_l)
  for (std::uint64_t l = 0; l < k; ++l) half[l] = sine_squared(l, k);
  for (std::uint64_t l = 1; l < k; ++l) {
    const double x = 2 * pi * static_cast<double>(l) / static_cast<double>(k);
    stiffness[l] = std::exp(-2 * beta * (half[l] - half[1])) *
                   (beta * 4 * half[l] * (1 - half[l]) - std::cos(x));
  }
  std::vector<Sum> sums(k / 2 + 1);
  for (std::uint64_t j = 1; j < sums.size(); ++j)
    for (std::uint64_t l = 1; l < k; ++l) {
      const double term = stiffness[l] * 2 * half[j * l % k];
      sums[j].value += term;
      sums[j].size += std::abs(term);
    }
  return sums;
}

/// e^{-beta} I_p(beta) / beta for p = 1.. (index 0 is not used), by the ratios I_p/I_{p-1}
/// downward.
std::vector<double> scaled_bessel(double beta, std::size_t most) {
  std::vector<double> value(most + 1), ratio(most + 2);
  double next = 0;
  for (std::size_t p = 2 * most; p >= 2; --p) {
    next = beta / (2 * static_cast<double>(p) + beta * next);
    if (p <= most) ratio[p] = next;
  }
  double product = 1 / (2 + beta * ratio[2]), total = 0;  // I_p/(beta I_0)
  for (std::size_t p = 1; p <= most; ++p) {
    if (p > 1) product *= ratio[p];
    value[p] = product;
    total += product;
  }
  for (double& v : value) v /= 1 + 2 * beta * total;  // I_0 + 2 sum I_p = e^beta
  return value;
}

/// k e^{-beta cos x_1} (sum_{p = j mod k} - sum_{p = 0 mod k}) p^2 I_p/beta, with I_p(-b)/(-b) =
/// -(-1)^p I_p(b)/b.
std::vector<Sum> sums_over_waves(double beta, std::uint64_t k) {
  const double size = std::abs(beta), half = sine_squared(1, k);
  const auto most =
      static_cast<std::size_t>(4 * static_cast<double>(k) + 14 + 10 * std::sqrt(size));
  const std::vector<double> bessel = scaled_bessel(size, most);  // e^{-b} I_p/b
  const double scale = static_cast<double>(k) * std::exp(2 * size * (beta < 0 ? 1 - half : half));
  std::vector<double> aliased(k), absolute(k);
  for (std::size_t p = 1; p <= most; ++p) {
    const double sign = beta < 0 && p % 2 == 0 ? -1 : 1;
    const double term = sign * scale * square(static_cast<double>(p)) * bessel[p];
    for (const std::size_t mode : {p % k, (k - p % k) % k}) {
      aliased[mode] += term;
      absolute[mode] += std::abs(term);
    }
  }
  std::vector<Sum> sums(k / 2 + 1);
  for (std::uint64_t j = 1; j < sums.size(); ++j)
    sums[j] = {aliased[j] - aliased[0], absolute[j] + absolute[0]};
  return sums;
}

/// ln D of the polygon less beta cos(2 pi/k).
double log_normaliser(const RegularClusters& c) {
  const double gap = 2 * c.beta * sine_squared(1, c.count);
  if (c.rule == Rule::unnormalised) return std::log(static_cast<double>(c.count)) - c.beta + gap;
  double sum = 1;
  for (std::uint64_t l = 1; l < c.count; ++l)
    sum += std::exp(-2 * c.beta * sine_squared(l, c.count));
  return gap + std::log(sum);
}

// ---- Motions of one variable.

MergeClock equiangular_clock(const RegularClusters& c) {
  const double k = static_cast<double>(c.count);
  MergeClock clock{.reach = c.beta * k / (k - 1), .slope = 1, .rest = {}};
  if (c.rule == Rule::unnormalised)
    clock.rest = [beta = c.beta](double) { return -beta; };
  else
    clock.rest = [k](double x) { return std::log((1 + (k - 1) * std::exp(-x)) / k); };
  return clock;
}

/// z = ln((1 - c)/(c + 1/(k-1)))/2.
double equiangular_place(const RegularClusters& c, double cosine) {
  const double k = static_cast<double>(c.count), excess = cosine + 1 / (k - 1);
  if (!(excess >= -1e-15 && cosine <= 1))
    throw Error(fmt::format("cosine = {} is not allowed; {} equiangular clusters allow -1/{} to 1",
                            cosine, c.count, c.count - 1));
  return excess <= 0 ? kInfinity : 0.5 * (std::log1p(-cosine) - std::log(excess));
}

MergeClock ring_clock(const RegularClusters& c) {
  std::vector<double> half(c.count);  // a_l/2
  for (std::uint64_t l = 0; l < c.count; ++l) half[l] = sine_squared(l, c.count);
  const double nearest = half[1], beta = c.beta;
  const bool softmax = c.rule == Rule::softmax;
  return {.reach = 2 * beta,
          .slope = nearest,
          .rest = [half = std::move(half), nearest, beta, softmax](double x) {
            double pull = 0, weight = 0;
            for (const double h : half) {
              if (h > 0) pull += 2 * h * std::exp(-x * (h - nearest));
              weight += std::exp(-x * h);
            }
            const double size = static_cast<double>(half.size());
            return (softmax ? std::log(weight) : std::log(size) - beta) - std::log(pull);
          }};
}

double ring_place(double polar) {
  if (!(polar >= 0 && polar <= 0.5 * pi))
    throw Error(fmt::format("polar = {} is not allowed; allowed: 0 to pi/2 radians", polar));
  return PairAngle::of(2 * polar).log_tangent;
}

}  // namespace

double GrowthSpectrum::growth(std::size_t mode) const {
  return rate[mode] < 0 ? -flow::Time(-rate[mode], log_unit).value()
                        : flow::Time(rate[mode], log_unit).value();
}

double GrowthSpectrum::log_growth(std::size_t mode) const {
  return std::log(std::abs(rate[mode])) + log_unit;
}

std::size_t GrowthSpectrum::fastest() const {
  std::size_t best = 0;
  for (std::size_t j = 1; j < rate.size(); ++j)
    if (multiplicity[j] > 0 && rate[j] > rate[best]) best = j;
  return best;
}

double GrowthSpectrum::log_efolding() const {
  return rate[fastest()] > 0 ? -log_growth(fastest()) : kInfinity;
}

GrowthSpectrum polygon_spectrum(const RegularClusters& clusters) {
  check(clusters);
  const std::uint64_t k = clusters.count;
  const double gap = 2 * clusters.beta * sine_squared(1, k);
  std::vector<Sum> sums = sums_over_neighbours(clusters.beta, k);
  // Beyond this, e^{gap} overflows; long before, the waves cancel and the neighbours do not.
  if (gap < 100) {
    const std::vector<Sum> waves = sums_over_waves(clusters.beta, k);
    for (std::size_t j = 1; j < sums.size(); ++j)
      if (waves[j].size < sums[j].size) sums[j] = waves[j];
  }
  GrowthSpectrum spectrum{.log_unit = -log_normaliser(clusters), .rate = {}, .multiplicity = {}};
  for (std::size_t j = 0; j < sums.size(); ++j) {
    spectrum.rate.push_back(sums[j].value);
    spectrum.multiplicity.push_back(j == 0 || 2 * j == k ? 1 : 2);
  }
  return spectrum;
}

// With xi_i the displacements, S their sum and s_ij = <xi_i, x_j> + <x_i, xi_j>, in units of w/D,
//   xi_i' = P_i S + beta sum_j s_ij (x_j - c x_i),
//   s_ij' = (1 - c) ((1 + beta c)(r_i + r_j) + 2 beta s_ij),   r_i = sum_j s_ij,  sum r_i = 0;
// displacements out of the space of the clusters have s = 0 and xi_i' = S.
GrowthSpectrum simplex_spectrum(const RegularClusters& clusters, std::uint64_t dim) {
  check(clusters);
  const std::uint64_t n = clusters.count;
  if (dim + 1 < n || dim < 2)
    throw Error(fmt::format("dim = {} is not allowed; a simplex of {} clusters needs at least {}",
                            dim, n, std::max<std::uint64_t>(2, n - 1)));
  const double k = static_cast<double>(n), beta = clusters.beta, x = beta * k / (k - 1);
  GrowthSpectrum spectrum;
  spectrum.log_unit = clusters.rule == Rule::softmax ? -x - std::log1p((k - 1) * std::exp(-x))
                                                     : -beta / (k - 1) - std::log(k);
  spectrum.rate = {0, k, k / (k - 1) * (k - 2 + x), 2 * x};
  const std::uint64_t out = dim + 1 - n;
  spectrum.multiplicity = {0, out, n > 2 ? n - 1 : 0, n > 3 ? n * (n - 3) / 2 : 0};
  spectrum.multiplicity[kNeutral] =
      n * (dim - 1) - out - spectrum.multiplicity[kParting] - spectrum.multiplicity[kPairing];
  return spectrum;
}

flow::Time equiangular_time(const RegularClusters& clusters, double from_cosine, double to_cosine) {
  check(clusters);
  return travel_time(equiangular_clock(clusters), equiangular_place(clusters, from_cosine),
                     equiangular_place(clusters, to_cosine));
}

double equiangular_cosine_after(const RegularClusters& clusters, double from_cosine,
                                const flow::Time& time) {
  check(clusters);
  const double z =
      place_after(equiangular_clock(clusters), equiangular_place(clusters, from_cosine), time);
  const double k = static_cast<double>(clusters.count), most = k / (k - 1);
  // From the end that is nearer, so that neither 1 - c nor c + 1/(k-1) is lost.
  return z < 0 ? 1 - most / (1 + std::exp(-2 * z)) : most / (1 + std::exp(2 * z)) - 1 / (k - 1);
}

flow::Time ring_time(const RegularClusters& clusters, double from_polar, double to_polar) {
  check(clusters);
  return travel_time(ring_clock(clusters), ring_place(from_polar), ring_place(to_polar));
}

double ring_polar_after(const RegularClusters& clusters, double from_polar,
                        const flow::Time& time) {
  check(clusters);
  return 0.5 * PairAngle{place_after(ring_clock(clusters), ring_place(from_polar), time)}.angle();
}

double log_ring_escape_rate(const RegularClusters& clusters) {
  check(clusters);
  const MergeClock clock = ring_clock(clusters);
  return -clock.wait_at(clock.reach);
}

ClusterPair neighbours(const RegularClusters& clusters) {
  check(clusters);
  const double mass = 1 / static_cast<double>(clusters.count);
  return {.rule = clusters.rule, .beta = clusters.beta, .mass1 = mass, .mass2 = mass};
}

PairAngle polygon_angle(std::uint64_t count) {
  check_count(count);
  return PairAngle::of(count == 2 ? pi : 2 * pi / static_cast<double>(count));
}

PairAngle simplex_angle(std::uint64_t count) {
  check_count(count);
  return PairAngle::of_cosine(-1 / static_cast<double>(count - 1));
}

PairAngle ring_angle(std::uint64_t count, double polar) {
  check_count(count);
  ring_place(polar);  // refuses a bad angle
  if (count == 2) return PairAngle::of(2 * polar);
  return PairAngle::of(2 * std::asin(std::sin(polar) * std::sin(pi / static_cast<double>(count))));
}

}  // namespace attractor::meanfield
