#include "attractor/reductions/equiangular_clock.hpp"

#include <algorithm>
#include <array>
#include <boost/math/quadrature/gauss.hpp>
#include <boost/math/special_functions/legendre.hpp>
#include <boost/math/tools/roots.hpp>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "attractor/base/numbers.hpp"

namespace attractor::meanfield {
namespace {

constexpr double kNegligibleTerm = 1e-18;  // relative to a sum of doubles
constexpr double kSteep = 600;             // exponents above are taken out of the density

// ---- A panel: Gauss points on (0, 1), weights, and partial[i][j] = int_0^{c_i} of the j-th
// Lagrange polynomial, by which the integral up to every point is known too.

constexpr std::size_t kPoints = 15;

struct Panel {
  std::array<double, kPoints> point{}, weight{};
  std::array<std::array<double, kPoints>, kPoints> partial{};
};

Panel make_panel() {
  using Gauss = boost::math::quadrature::gauss<double, kPoints>;
  constexpr std::size_t kHalf = kPoints / 2;
  std::array<double, kPoints> xi{};
  Panel panel;
  for (std::size_t k = 0; k <= kHalf; ++k) {
    xi[kHalf + k] = Gauss::abscissa()[k];
    xi[kHalf - k] = -Gauss::abscissa()[k];
    panel.weight[kHalf + k] = panel.weight[kHalf - k] = Gauss::weights()[k] / 2;
  }
  const auto legendre = [](std::size_t degree, double at) {
    return boost::math::legendre_p(static_cast<int>(degree), at);
  };
  for (std::size_t i = 0; i < kPoints; ++i) {
    panel.point[i] = (1 + xi[i]) / 2;
    for (std::size_t j = 0; j < kPoints; ++j) {
      double sum = 1 + xi[i];
      for (std::size_t d = 1; d < kPoints; ++d)
        sum += legendre(d, xi[j]) * (legendre(d + 1, xi[i]) - legendre(d - 1, xi[i]));
      panel.partial[i][j] = panel.weight[j] * sum / 2;
    }
  }
  return panel;
}

const Panel& panel() {
  static const Panel kPanel = make_panel();
  return kPanel;
}

/// The root of an increasing function between two bounds; a bound itself where rounding has moved
/// the root out.
template <class F>
double increasing_root(const F& f, double low, double high) {
  const double at_low = f(low), at_high = f(high);
  if (at_low >= 0) return low;
  if (at_high <= 0) return high;
  std::uintmax_t evaluations = 200;
  const auto [a, b] = boost::math::tools::toms748_solve(
      f, low, high, at_low, at_high, boost::math::tools::eps_tolerance<double>(52), evaluations);
  return a + (b - a) / 2;
}

/// ln(1 + e^l).
double log1p_exp(double l) { return l > 40 ? l : std::log1p(std::exp(l)); }

/// ln(e^x + n - 1).
double log_total(const EquiangularCurve& c, double x) {
  return x > 0 ? x + std::log1p((c.tokens - 1) * std::exp(-x))
               : std::log(std::exp(x) + c.tokens - 1);
}

/// e^{-unit} E.
double excess_in_unit(const EquiangularCurve& c, double x, double unit) {
  const double exponent = c.beta * c.gap(x);
  if (exponent > 40) return std::exp(exponent - unit);
  return std::expm1(exponent) * std::exp(-unit);
}

/// e^{-unit} sqrt(E^2 + 2 E s + n s).
double unit_density(const EquiangularCurve& c, double x, double unit) {
  const double exponent = c.beta * c.gap(x);
  if (exponent > 300) return std::exp(exponent - unit);  // s <= n <= 1e30 is lost beside E
  const double e = std::expm1(exponent), s = c.sigma(x);
  return std::sqrt(e * e + 2 * e * s + c.tokens * s) * std::exp(-unit);
}

/// ln of the largest t' / r' there is from here on, (n + E)/(s + E); at most n / s where E >= 0.
double spread_of(const EquiangularCurve& c, double x) {
  if (c.beta >= 0) return std::log(c.tokens) - c.log_sigma(x);
  const double e = std::expm1(c.beta * c.gap(x));
  return std::log((c.tokens + e) / (c.sigma(x) + e));
}

/// |d(beta w) / dx|.
double steepness(const EquiangularCurve& c, double x) {
  return std::abs(c.beta) * std::exp(c.log_gap(x) + c.log_sigma(x) - std::log(c.tokens));
}

}  // namespace

// ---- The curve.

double EquiangularCurve::position(double cosine) const {
  // log1p keeps small cosines, the other form the neighbourhood of the simplex.
  if (tokens * cosine > -0.5) return std::log1p(tokens * cosine / (1 - cosine));
  return std::log(std::fma(tokens - 1, cosine, 1.0)) - std::log1p(-cosine);
}

double EquiangularCurve::position_at_gap(double log_gap) const {
  return std::log(std::fma(tokens - 1, -std::expm1(log_gap), 1.0)) - log_gap;
}

double EquiangularCurve::cosine(double x) const {
  if (x > 0) return -std::expm1(-x) / (1 + (tokens - 1) * std::exp(-x));
  return std::expm1(x) / (std::exp(x) + tokens - 1);
}

double EquiangularCurve::log_gap(double x) const {
  const double g = cosine(x);
  return g < 0.5 ? std::log1p(-g) + 0.0 : std::log(tokens) - log_total(*this, x);
}

double EquiangularCurve::gap(double x) const { return tokens / (std::exp(x) + tokens - 1); }

double EquiangularCurve::sigma(double x) const {
  if (x > 0) return tokens / (1 + (tokens - 1) * std::exp(-x));
  return tokens * std::exp(x) / (std::exp(x) + tokens - 1);
}

double EquiangularCurve::log_sigma(double x) const {
  if (x > 0) return std::log(sigma(x));  // x + log_gap would cancel
  return x + log_gap(x);
}

double log_pace(const EquiangularCurve& c, Clock clock, double x) {
  const double exponent = c.beta * c.gap(x), log_double = std::log(2 * c.tokens);
  if (clock == Clock::unnormalised) return exponent - c.beta - std::numbers::ln2;
  if (exponent > kSteep) return exponent - log_double;
  if (clock == Clock::softmax) return std::log(c.tokens + std::expm1(exponent)) - log_double;
  return std::log(unit_density(c, x, 0)) - log_double;
}

// ---- Clocks.

EquiangularClock::EquiangularClock(const EquiangularCurve& curve, double start, Clock clock)
    : curve_(curve), start_(start), clock_(clock) {
  const double exponent = curve.beta * curve.gap(start);
  unit_ = exponent > kSteep ? exponent - kSteep + 100 : 0;
  const bool softmax = clock != Clock::unnormalised;
  const double scale = std::exp(-unit_);
  weight_ = softmax ? 0.5 / curve.tokens : 0.5;
  // 1 + E would cancel where E -> -1.
  whole_ = clock == Clock::unit || (clock == Clock::unnormalised && curve.beta < 0);
  floor_ = whole_ ? 0 : 0.5 * scale;
  tail_ = whole_ ? 0.5 * scale : 0;
  log_factor_ = softmax ? unit_ : unit_ - curve.beta;
  build();
}

double EquiangularClock::density(double x) const {
  if (clock_ == Clock::unit) return weight_ * unit_density(curve_, x, unit_);
  if (whole_) return weight_ * std::exp(curve_.beta * curve_.gap(x) - unit_);
  return weight_ * excess_in_unit(curve_, x, unit_);
}

double EquiangularClock::summed(const Knot& knot, double further) const {
  double sum = 0;
  for (std::size_t i = 0; i < kPoints; ++i)
    sum += panel().weight[i] * density(start_ + (knot.moved + further * panel().point[i]));
  return knot.integral + further * sum;
}

// Panels are at most 1 long (the curve has its poles at a distance pi from the real axis) and
// resolve e^{beta w} until E, which only falls, cannot matter to the sum any more.
void EquiangularClock::build() {
  const auto push = [&](double moved, double integral) {
    knots_.push_back({moved, integral, floor_ * moved + integral});
  };
  push(0, 0);
  while (true) {
    const Knot knot = knots_.back();
    const double x = start_ + knot.moved;
    const double e = weight_ * std::abs(excess_in_unit(curve_, x, unit_));
    // 200 bounds the length on which E is not yet proportional to e^{-x}.
    const bool resolved = 200 * e <= kNegligibleTerm * std::abs(knot.integral);
    if (!whole_) {
      if (resolved) return;
    } else if ((resolved || e <= kNegligibleTerm * tail_) &&
               curve_.gap(x) * (curve_.tokens - 1) <= kNegligibleTerm * curve_.tokens) {
      return;
    }
    const double h = resolved ? 1 : std::min(1.0, 1 / steepness(curve_, x));
    push(knot.moved + h, summed(knot, h));
  }
}

const EquiangularClock::Knot& EquiangularClock::knot_before(double moved) const {
  const auto above =
      std::upper_bound(knots_.begin(), knots_.end(), moved,
                       [](double value, const Knot& knot) { return value < knot.moved; });
  return *std::prev(above);
}

double EquiangularClock::log_time(double moved) const {
  const Knot& knot = knot_before(moved);
  const double further = moved - knot.moved;
  const double integral =
      &knot == &knots_.back() ? knot.integral + tail_ * further : summed(knot, further);
  return std::log(floor_ * moved + integral) + log_factor_;
}

double EquiangularClock::moved(double log_time) const {
  const double target = std::exp(log_time - log_factor_);
  const auto above =
      std::upper_bound(knots_.begin(), knots_.end(), target,
                       [](double value, const Knot& knot) { return value < knot.time; });
  const Knot& knot = *std::prev(above);
  if (above == knots_.end()) {
    const double slope = floor_ + tail_;
    if (!(target > knot.time)) return knot.moved;
    return slope > 0 ? knot.moved + (target - knot.time) / slope : kInfinity;
  }
  // A way too short for a double, or for a bracket around it, is a straight one.
  const double straight = target / (floor_ + density(start_));
  if (straight < 1e-290) return straight;
  const auto late = [&](double further) {
    return floor_ * (knot.moved + further) + summed(knot, further) - target;
  };
  return knot.moved + increasing_root(late, 0, above->moved - knot.moved);
}

double EquiangularClock::excess(double moved) const {
  const Knot& knot = knot_before(moved);
  const double integral =
      &knot == &knots_.back() ? knot.integral : summed(knot, moved - knot.moved);
  if (integral == 0) return 0;
  return std::copysign(std::exp(std::log(std::abs(integral)) + log_factor_), integral);
}

// ---- Growing norms.

GrowingClock::GrowingClock(const EquiangularCurve& curve, double start, Clock clock)
    : curve_(curve),
      start_(start),
      clock_(clock),
      post_(curve, start, Clock::softmax),
      log_spread_(spread_of(curve, start)) {}

// Where E >> n, and hence was before, <theta, A> = |A| = 1 to double precision and r = 1 + t, also
// where the way is too short for a double.
bool GrowingClock::frozen(double moved) const {
  return curve_.beta * curve_.gap(start_ + moved) > std::log(curve_.tokens) + 42;
}

double GrowingClock::log_norm(double moved, double log_time) const {
  return frozen(moved) ? log1p_exp(log_time) : log_norm(moved);
}

double GrowingClock::log_norm(double moved) const {
  const double x = start_ + moved, j = post_.excess(moved);
  if (moved > 1) return j + (curve_.log_gap(start_) - curve_.log_gap(x)) / 2;
  const double share = start_ > 0 ? 1 / (1 + (curve_.tokens - 1) * std::exp(-start_))
                                  : std::exp(start_) / (std::exp(start_) + curve_.tokens - 1);
  return j + std::log1p(share * std::expm1(moved)) / 2;
}

double GrowingClock::log_constant() const {
  return curve_.log_gap(start_) + 2 * post_.excess(kInfinity);
}

// With u = ln r, t = int e^u f du where 1 <= f <= spread: what lies more than 45 + ln(spread) below
// the end in u is lost beside the rest.
double GrowingClock::log_time(double moved) const {
  const double end = log_norm(moved), n = curve_.tokens;
  if (!(moved > 0)) return -kInfinity;
  if (!std::isfinite(end)) return kInfinity;
  if (frozen(moved)) return end > 40 ? end : std::log(std::expm1(end));
  double sum = 0, drop = 0;  // drop = u(end) - u(here)
  for (double back = 0; back < moved && drop < 45 + log_spread_;) {
    const auto growth = [&](double x) {
      return (std::expm1(curve_.beta * curve_.gap(x)) + curve_.sigma(x)) / (2 * n);
    };
    const double x = start_ + (moved - back);
    const double h =
        std::min({moved - back, 1.0, 1 / steepness(curve_, x), 1 / std::abs(growth(x))});
    std::array<double, kPoints> rate{};
    for (std::size_t i = 0; i < kPoints; ++i)
      rate[i] = growth(start_ + (moved - back - h * panel().point[i]));
    double whole = 0;
    for (std::size_t i = 0; i < kPoints; ++i) {
      double fall = 0;
      for (std::size_t j = 0; j < kPoints; ++j) fall += panel().partial[i][j] * rate[j];
      const double at = start_ + (moved - back - h * panel().point[i]);
      sum += h * panel().weight[i] * std::exp(log_pace(curve_, clock_, at) - drop - h * fall);
      whole += panel().weight[i] * rate[i];
    }
    drop += h * whole;
    back += h;
  }
  return end + std::log(sum);
}

// Since r >= 1 and 1 <= f <= spread, and |A| >= 1 / sqrt(spread) of post-norm's for peri-norm, the
// post-norm clock bounds the answer from both sides.
double GrowingClock::moved(double log_time) const {
  const double slack = clock_ == Clock::unit ? log_spread_ / 2 : 0;
  const double least = std::log(log1p_exp(log_time - log_spread_));
  const double most = std::min(log_time + slack, std::log(log1p_exp(log_time) + log_spread_ / 2));
  const auto late = [&](double moved) { return this->log_time(moved) - log_time; };
  const double high = post_.moved(most) * (1 + 1e-14);
  if (high < 1e-290) return high;  // the lower bound may have vanished, ln of its time with it
  return increasing_root(late, post_.moved(least) * (1 - 1e-14), high);
}

}  // namespace attractor::meanfield
