#include "attractor/mean_field/circle_density.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numbers>

#include "attractor/base/circle_transform.hpp"
#include "attractor/base/error.hpp"

namespace attractor::meanfield {

/// A real function on `size` points of the circle and its Fourier coefficients.
class GridTransform {
 public:
  explicit GridTransform(std::size_t size) : rows_(1, size) {}

  std::size_t size() const { return rows_.size(); }
  std::span<double> values() { return {rows_.values(0), size()}; }

  /// values_j = sum of coefficient(k) e^{ik theta_j} and its conjugate over k = 1 .. count, plus
  /// constant.
  template <class Coefficient>
  std::span<double> synthesise(double constant, std::size_t count, const Coefficient& coefficient) {
    rows_.modes(0)[0] = constant;
    for (std::size_t k = 1; k <= size() / 2; ++k)
      rows_.modes(0)[k] = k <= count ? coefficient(k) : std::complex<double>();
    rows_.synthesise(1);
    return values();
  }

  /// Then mode(k) = mean of values_j e^{ik theta_j}.
  void analyse() { rows_.analyse(1); }
  std::complex<double> mode(std::size_t k) const {
    return std::conj(rows_.modes(0)[k]) / static_cast<double>(size());
  }

 private:
  CircleTransform rows_;
};

namespace {

/// A product of small primes, as transforms like it.
std::size_t good_size(std::size_t least) {
  std::size_t power = 16;
  while (power < least) power *= 2;
  for (const std::size_t size : {power / 8 * 5, power / 4 * 3})
    if (size >= least) return size;
  return power;
}

std::complex<double> moment(std::span<const double> state, std::size_t k) {
  return {state[2 * k - 2], state[2 * k - 1]};
}

}  // namespace

class CircleDensity::Grid {
 public:
  explicit Grid(std::size_t size) : density(size), slope(size), partition(size) {}
  GridTransform density, slope, partition;
};

CircleDensity::CircleDensity(const CircleAttention& attention, const ModePlan& modes)
    : attention_(attention),
      truncation_(modes),
      log_unit_(attention.rule == Rule::unnormalised ? -attention.beta : 0.0) {
  if (modes.modes < 2 || modes.modes > (std::size_t{1} << 20))
    throw Error(fmt::format("modes = {} is not allowed; allowed: 2 to 1048576", modes.modes));
  make_grid();
}

CircleDensity::~CircleDensity() = default;

void CircleDensity::make_grid() {
  spectrum_ = sphere_spectrum(2, attention_.beta, modes() + 1);
  grid_ = std::make_unique<Grid>(good_size(4 * modes() + 1));
}

std::vector<double> CircleDensity::state(std::span<const std::complex<double>> moments) const {
  assert(moments.size() > modes());
  std::vector<double> result;
  for (std::size_t k = 1; k <= modes(); ++k)
    result.insert(result.end(), {moments[k].real(), moments[k].imag()});
  return result;
}

/// Leaves rho v over speed() in grid_->density, and its modes.
void CircleDensity::flux(std::span<const double> state) const {
  assert(state.size() == 2 * modes());
  // rho = 1 + 2 Re sum m_k e^{-ik theta}: the coefficient of e^{ik theta} is the conjugate of m_k.
  const auto conjugate = [&](std::size_t k) { return std::conj(moment(state, k)); };
  const std::span<double> rho = grid_->density.synthesise(1, modes(), conjugate);
  const std::span<double> slope = grid_->slope.synthesise(0, modes(), [&](std::size_t k) {
    return std::complex<double>(0, static_cast<double>(k) * spectrum_.pull[k]) * conjugate(k);
  });
  if (attention_.rule == Rule::softmax) {
    const std::span<double> z = grid_->partition.synthesise(
        1, modes(), [&](std::size_t k) { return spectrum_.ratio[k] * conjugate(k); });
    // |v| <= 1. Where z is lost to rounding there is no mass either.
    for (std::size_t j = 0; j < rho.size(); ++j)
      rho[j] *= z[j] > 0 ? std::clamp(slope[j] / z[j], -1.0, 1.0) : 0.0;
  } else {
    for (std::size_t j = 0; j < rho.size(); ++j) rho[j] *= slope[j];
  }
  grid_->density.analyse();
}

double CircleDensity::speed(double log_unit) const {
  const bool softmax = attention_.rule == Rule::softmax;
  return std::exp(softmax ? log_unit : log_unit + attention_.beta + spectrum_.log_scale);
}

void CircleDensity::drift(std::span<const double> state, double log_unit,
                          std::span<double> out) const {
  flux(state);
  const double fast = speed(log_unit), noise = std::exp(log_unit) * attention_.noise;
  for (std::size_t k = 1; k <= modes(); ++k) {
    const auto order = static_cast<double>(k);
    const std::complex<double> mean = grid_->density.mode(k);
    const double decay = noise * order * order;
    out[2 * k - 2] = -fast * order * mean.imag() - decay * state[2 * k - 2];
    out[2 * k - 1] = fast * order * mean.real() - decay * state[2 * k - 1];
  }
}

double CircleDensity::feed(std::span<const double> state, double log_unit) const {
  flux(state);
  double squares = 0;
  for (const double x : grid_->density.values()) squares += x * x;
  const auto size = static_cast<double>(grid_->density.size());
  const double rounding = 8 * std::numeric_limits<double>::epsilon() * std::sqrt(squares / size);
  double largest = 0;
  for (std::size_t k = modes() + 1; k <= 2 * modes(); ++k) {
    const double mean = std::abs(grid_->density.mode(k));
    const double fed = mean <= rounding ? 0 : static_cast<double>(k) * mean;
    largest = fed <= largest ? largest : fed;  // keeps NaN
  }
  return speed(log_unit) * largest;
}

bool CircleDensity::simplify(const flow::Time& now, std::vector<double>& state) {
  const auto order = static_cast<double>(modes() + 1);
  const double fed = truncation_.watches() ? feed(state, log_unit_) : 0;
  const double damping = std::exp(log_unit_) * attention_.noise * order * order;
  if (!truncation_.meet(now, fed, damping, log_unit_)) return false;
  make_grid();
  state.resize(2 * modes(), 0.0);
  return true;
}

std::vector<std::complex<double>> moments_of(std::span<const double> state) {
  std::vector<std::complex<double>> result = {1};
  for (std::size_t k = 1; k <= state.size() / 2; ++k) result.push_back(moment(state, k));
  return result;
}

std::vector<double> density_values(std::span<const double> state, std::size_t count) {
  const std::size_t modes = state.size() / 2;
  assert(count > 2 * modes);
  GridTransform grid(count);
  const std::span<double> values = grid.synthesise(1, modes, [&](std::size_t k) {
    return (k % 2 == 0 ? 1.0 : -1.0) * std::conj(moment(state, k));  // starts at -pi
  });
  return {values.begin(), values.end()};
}

namespace {

/// The density at the extremum next to a grid point that is the largest or smallest of a grid of
/// this spacing: Newton's method on its slope, never further than the next grid point.
double extremum(std::span<const double> state, double angle, double spacing) {
  double value = 0, moved = 0;
  for (int step = 0; step < 6; ++step) {
    double slope = 0, bend = 0;
    value = 1;
    const std::complex<double> turn = std::polar(1.0, -angle - moved);
    std::complex<double> power = 1;
    for (std::size_t k = 1; 2 * k <= state.size(); ++k) {
      const auto order = static_cast<double>(k);
      power = k % 64 == 0 ? std::polar(1.0, -order * (angle + moved)) : power * turn;
      const std::complex<double> term = 2.0 * moment(state, k) * power;
      value += term.real();
      slope += order * term.imag();
      bend -= order * order * term.real();
    }
    const double next = moved - slope / bend;
    if (!(std::abs(next) <= spacing) || std::abs(next - moved) < 1e-9 * spacing) break;
    moved = next;
  }
  return value;
}

}  // namespace

DensityMeasures measure_density(std::span<const double> state) {
  const std::vector<double> rho = density_values(state, good_size(2 * state.size()));
  const double spacing = 2 * std::numbers::pi / static_cast<double>(rho.size());
  DensityMeasures result;
  for (double r : rho) {
    result.mass += r / static_cast<double>(rho.size());
    if (r > 0) result.entropy += r * std::log(r) / static_cast<double>(rho.size());
  }
  const auto [low, high] = std::minmax_element(rho.begin(), rho.end());
  const auto refined = [&](std::vector<double>::const_iterator at) {
    const double angle = spacing * static_cast<double>(at - rho.begin()) - std::numbers::pi;
    return extremum(state, angle, spacing);
  };
  result.smallest = std::min(*low, refined(low));
  result.largest = std::max(*high, refined(high));
  return result;
}

}  // namespace attractor::meanfield
