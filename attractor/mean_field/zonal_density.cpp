#include "attractor/mean_field/zonal_density.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <utility>

#include "attractor/base/error.hpp"
#include "attractor/base/threads.hpp"

namespace attractor::meanfield {
namespace {

constexpr std::size_t kNodeBlock = 128;
constexpr double kNegligibleDegree = 1e-18;
constexpr std::size_t kMostZonalDegrees = 2048;

double natural_unit(const ZonalAttention& a) {
  return a.rule == Rule::unnormalised ? -a.beta : 0.0;
}

/// e^log_unit lambda_0 (USA) or e^log_unit (SA).
double speed_factor(const ZonalAttention& a, const SphereSpectrum& s, double log_unit) {
  return std::exp(a.rule == Rule::softmax ? log_unit : log_unit + a.beta + s.log_scale);
}

/// V' over speed_factor. Softmax: sin(angle) |V'| <= 1 is a mean of tangent parts; where the
/// partition function is lost to rounding there is no mass either.
double slope_of_potential(Rule rule, double slope, double partition, double sine) {
  if (rule == Rule::unnormalised) return slope;
  if (!(partition > 0)) return 0;
  return sine > 0 ? std::clamp(slope / partition, -1 / sine, 1 / sine) : 0.0;
}

SphereSpectrum enough_degrees(const ZonalAttention& attention) {
  if (attention.dim < 2)
    throw Error(fmt::format("dim = {} is not allowed; allowed: at least 2", attention.dim));
  return resolved_spectrum(attention.dim, attention.beta, kNegligibleDegree);
}

}  // namespace

ZonalDensity::ZonalDensity(const ZonalAttention& attention, const ModePlan& degrees)
    : attention_(attention), truncation_(degrees), log_unit_(natural_unit(attention)) {
  if (attention.dim < 2)
    throw Error(fmt::format("dim = {} is not allowed; allowed: at least 2", attention.dim));
  if (degrees.modes < 2 || degrees.modes > kMostZonalDegrees)
    throw Error(fmt::format("modes = {} is not allowed; allowed: 2 to {}", degrees.modes,
                            kMostZonalDegrees));
  make_tables();
}

ZonalDensity::ZonalDensity(const ZonalAttention& attention, std::size_t degrees)
    : ZonalDensity(attention, ModePlan{.modes = degrees, .max_modes = degrees}) {}

void ZonalDensity::make_tables() {
  const std::size_t count = degrees() + 1;
  spectrum_ = sphere_spectrum(attention_.dim, attention_.beta, count);
  // f V' p_l' (1 - t^2) has degree 3L, or 4L for a missing p_l: these nodes integrate both.
  rule_ = gauss_rule(attention_.dim, 2 * count);
  stride_ = truncation_.watches() ? 2 * degrees() + 1 : count;
  const Gegenbauer basis(attention_.dim, stride_);
  const std::size_t nodes = rule_.nodes.size();
  p_.resize(nodes * stride_);
  slopes_.resize(nodes * stride_);
  for (std::size_t q = 0; q < nodes; ++q)
    basis.values_and_slopes(rule_.nodes[q], std::span(p_).subspan(q * stride_, stride_),
                            std::span(slopes_).subspan(q * stride_, stride_));
  at_pole_.resize(stride_);
  basis.values(1, at_pole_);
}

double ZonalDensity::flux(std::size_t node, std::span<const double> state, double factor) const {
  const double* p = p_.data() + node * stride_;
  const double* slopes = slopes_.data() + node * stride_;
  double f = 1, slope = 0, partition = 1;
  for (std::size_t l = 1; l < spectrum_.count(); ++l) {
    const double c = state[l - 1];
    f += c * p[l];
    slope += spectrum_.pull[l] * c * slopes[l];
    partition += spectrum_.ratio[l] * c * p[l];
  }
  const double t = rule_.nodes[node], squared_sine = (1 - t) * (1 + t);
  slope = slope_of_potential(attention_.rule, slope, partition, std::sqrt(squared_sine));
  return factor * rule_.weights[node] * f * squared_sine * slope;
}

void ZonalDensity::drift(std::span<const double> state, double log_unit,
                         std::span<double> out) const {
  const std::size_t count = spectrum_.count();
  assert(state.size() + 1 == count);
  const double factor = speed_factor(attention_, spectrum_, log_unit);
  const double noise = std::exp(log_unit) * attention_.noise;
  for (std::size_t l = 1; l < count; ++l)
    out[l - 1] = -noise * laplacian(attention_.dim, l) * state[l - 1];
  for (std::size_t q = 0; q < rule_.nodes.size(); ++q) {
    const double through = flux(q, state, factor);
    const double* slopes = slopes_.data() + q * stride_;
    for (std::size_t l = 1; l < count; ++l) out[l - 1] += through * slopes[l];
  }
}

double ZonalDensity::feed(std::span<const double> state, double log_unit) const {
  const std::size_t first = degrees() + 1;
  std::vector<double> fed(stride_ - first, 0.0), rounding(fed.size(), 0.0);
  const double factor = speed_factor(attention_, spectrum_, log_unit);
  for (std::size_t q = 0; q < rule_.nodes.size(); ++q) {
    const double through = flux(q, state, factor);
    const double* slopes = slopes_.data() + q * stride_ + first;
    for (std::size_t k = 0; k < fed.size(); ++k) {
      fed[k] += through * slopes[k];
      rounding[k] += std::abs(through * slopes[k]);
    }
  }
  double largest = 0;
  for (std::size_t k = 0; k < fed.size(); ++k) {
    const bool noise = std::abs(fed[k]) <= 8 * std::numeric_limits<double>::epsilon() * rounding[k];
    const double size = noise ? 0 : std::abs(fed[k]) / at_pole_[first + k];
    largest = size <= largest ? largest : size;  // keeps NaN
  }
  return largest;
}

bool ZonalDensity::simplify(const flow::Time& now, std::vector<double>& state) {
  const double fed = truncation_.watches() ? feed(state, log_unit_) : 0;
  const double damping =
      std::exp(log_unit_) * attention_.noise * laplacian(attention_.dim, degrees() + 1);
  if (!truncation_.meet(now, fed, damping, log_unit_)) return false;
  make_tables();
  state.resize(degrees(), 0.0);
  return true;
}

std::vector<double> ZonalDensity::values(std::span<const double> state) const {
  std::vector<double> f(rule_.nodes.size(), 1.0);
  for (std::size_t q = 0; q < f.size(); ++q)
    for (std::size_t l = 1; l <= degrees(); ++l) f[q] += state[l - 1] * p_[q * stride_ + l];
  return f;
}

ZonalLabels::ZonalLabels(const ZonalAttention& attention, std::vector<double> weights)
    : attention_(attention),
      spectrum_(enough_degrees(attention)),
      log_unit_(natural_unit(attention)),
      weights_(std::move(weights)) {
  assert(attention.noise == 0);
}

std::vector<double> ZonalLabels::coefficients(std::span<const double> angles,
                                              std::size_t count) const {
  assert(angles.size() == weights_.size());
  const Gegenbauer basis(attention_.dim, count);
  std::vector<std::vector<double>> partial((angles.size() + kNodeBlock - 1) / kNodeBlock);
  parallel_for(angles.size(), kNodeBlock, [&](std::size_t begin, std::size_t end) {
    std::vector<double> p(count), &sums = partial[begin / kNodeBlock];
    sums.assign(count, 0.0);
    for (std::size_t i = begin; i < end; ++i) {
      basis.values(std::cos(angles[i]), p);
      for (std::size_t l = 0; l < count; ++l) sums[l] += weights_[i] * p[l];
    }
  });
  std::vector<double> result(count, 0.0);
  for (const std::vector<double>& sums : partial)
    for (std::size_t l = 0; l < count; ++l) result[l] += sums[l];
  if (count > 0) result[0] = 1;
  return result;
}

void ZonalLabels::drift(std::span<const double> angles, double log_unit,
                        std::span<double> out) const {
  const std::size_t count = spectrum_.count();
  const std::vector<double> c = coefficients(angles, count);
  const Gegenbauer basis(attention_.dim, count);
  const double factor = speed_factor(attention_, spectrum_, log_unit);
  parallel_for(angles.size(), kNodeBlock, [&](std::size_t begin, std::size_t end) {
    std::vector<double> p(count), slopes(count);
    for (std::size_t i = begin; i < end; ++i) {
      basis.values_and_slopes(std::cos(angles[i]), p, slopes);
      double slope = 0, partition = 1;
      for (std::size_t l = 1; l < count; ++l) {
        slope += spectrum_.pull[l] * c[l] * slopes[l];
        partition += spectrum_.ratio[l] * c[l] * p[l];
      }
      const double sine = std::sin(angles[i]);
      out[i] =
          -factor * sine * slope_of_potential(attention_.rule, slope, partition, std::abs(sine));
    }
  });
}

double zonal_order(std::size_t dim, std::span<const double> coefficients) {
  return coefficients[1] / std::sqrt(static_cast<double>(dim));  // p_1 = sqrt(d) t
}

double zonal_log_energy(const SphereSpectrum& spectrum, std::span<const double> coefficients) {
  const double order = zonal_order(spectrum.dim, coefficients);
  if (spectrum.beta == 0) return std::log(0.5 * order * order);
  double sum = 1;
  for (std::size_t l = 1; l < std::min(coefficients.size(), spectrum.count()); ++l)
    sum += spectrum.ratio[l] * coefficients[l] * coefficients[l];
  return spectrum.beta + spectrum.log_scale + std::log(sum / (2 * spectrum.beta));
}

}  // namespace attractor::meanfield
