#include "attractor/reductions/cluster_pair.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/quadrature/gauss.hpp>
#include <boost/math/tools/roots.hpp>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"

namespace attractor::meanfield {
namespace {

constexpr double kFall = 4, kStride = 1;    // longest piece in x and in z
constexpr double kNegligibleShare = 1e-18;  // share of an integral that may be left out
constexpr double kUnderflow = 745;          // e^{-745} is 0
using NoPromotion = boost::math::policies::policy<boost::math::policies::promote_double<false>>;

/// What a clock ticks at a distance u below its start, relative to the start.
class Descent {
 public:
  Descent(const MergeClock& clock, double from)
      : clock_(clock), from_(from), rest_(clock.rest(clock.depth(from))) {}

  /// x(start) - x(start - u), without cancellation: tanh a - tanh b = sinh(a-b)/(cosh a cosh b).
  double fall(double u) const {
    const double a = std::abs(from_), b = std::abs(from_ - u);
    return clock_.reach * std::exp(u - a - b) * -std::expm1(-2 * u) /
           ((1 + std::exp(-2 * a)) * (1 + std::exp(-2 * b)));
  }
  /// ln of the time per unit of z there, over that at the start; never positive.
  double log_weight(double u) const {
    return clock_.rest(clock_.depth(from_ - u)) - rest_ - clock_.slope * fall(u);
  }
  double weight(double u) const { return std::exp(log_weight(u)); }

  /// Integral of the weight from u to u + length; one piece.
  double piece(double u, double length) const {
    return boost::math::quadrature::gauss<double, 20, NoPromotion>::integrate(
        [&](double v) { return weight(v); }, u, u + length);
  }
  /// Length of the piece that begins at u, at most `most`. Where the slope is small (rings of many
  /// clusters) the rest changes on the scale of x itself.
  double length(double u, double most) const {
    const double here = fall(u), x = clock_.depth(from_ - u);
    const double allowed = std::min(kFall / clock_.slope, std::max(kFall, 0.25 * x));
    double step = std::min(most, kStride);
    while (std::abs(fall(u + step) - here) > allowed) step /= 2;
    return step;
  }

 private:
  const MergeClock& clock_;
  double from_, rest_;
};

/// The part of a piece after which its integral is `sum`.
double part_of(const Descent& descent, double u, double length, double sum) {
  const auto missing = [&](double part) { return descent.piece(u, part) - sum; };
  const double high = missing(length);
  if (high <= 0) return length;
  std::uintmax_t evaluations = 100;
  const auto [a, b] = boost::math::tools::toms748_solve(
      missing, 0.0, length, -sum, high, boost::math::tools::eps_tolerance<double>(52), evaluations,
      NoPromotion());
  return 0.5 * (a + b);
}

double ratio(const ClusterPair& pair) {
  return std::min(pair.mass1, pair.mass2) / std::max(pair.mass1, pair.mass2);
}

void check(const ClusterPair& pair) {
  if (!(pair.beta >= -20 && pair.beta <= 1e6))
    throw Error(fmt::format("beta = {} is not allowed; allowed: -20 to 1e6", pair.beta));
  for (const double mass : {pair.mass1, pair.mass2})
    if (!(mass > 0 && mass <= 1))
      throw Error(fmt::format("mass = {} is not allowed; allowed: above 0, up to 1", mass));
  if (ratio(pair) < 1e-300)
    throw Error(
        fmt::format("masses {} and {}: their ratio is below 1e-300", pair.mass1, pair.mass2));
  if (pair.rule == Rule::unnormalised && pair.mass1 + pair.mass2 > 1 + 1e-12)
    throw Error(fmt::format("masses {} and {} are shares of the total mass; their sum is at most 1",
                            pair.mass1, pair.mass2));
}

/// Both factors of the large-beta formula that do not grow: ln(beta sin^2 delta M).
double log_prefactor(const ClusterPair& pair, PairAngle from) {
  const double r = ratio(pair);
  const double m = pair.rule == Rule::softmax ? r + 1 / r : pair.mass1 + pair.mass2;
  return std::log(pair.beta) + 2 * from.log_sine() + std::log(m);
}

}  // namespace

double MergeClock::depth(double place) const { return reach / (1 + std::exp(-2 * place)); }

flow::Time travel_time(const MergeClock& clock, double from, double to) {
  if (!(from > to)) return flow::Time(0);
  if (from == kInfinity || to == -kInfinity) return flow::Time(kInfinity);
  const Descent descent(clock, from);
  const double span = from - to;
  double sum = 0;
  for (double u = 0, length = 0; u < span; u += length) {
    if ((span - u) * descent.weight(u) < kNegligibleShare * sum) break;
    length = std::min(descent.length(u, length > 0 ? 2 * length : kStride), span - u);
    sum += descent.piece(u, length);
  }
  return flow::Time(sum, clock.wait(from));
}

double place_after(const MergeClock& clock, double from, const flow::Time& time) {
  if (!std::isfinite(from)) return from;
  const double unit = clock.wait(from), most = time.in_unit(unit);
  if (most == kInfinity) return -kInfinity;
  const Descent descent(clock, from);
  double left = most;
  for (double u = 0, length = kStride / 2; left > 0;) {
    // Merged as far as doubles can tell: the place now falls at constant speed.
    if (std::abs(clock.depth(from - u)) < kNegligibleShare)
      return from - u - left / descent.weight(u);
    if (descent.log_weight(u) < -kUnderflow) return -kInfinity;
    length = descent.length(u, 2 * length);
    const double sum = descent.piece(u, length);
    if (sum >= left) return from - (u + part_of(descent, u, length, left));
    left -= sum;
    u += length;
  }
  return from;
}

PairAngle PairAngle::of(double angle) {
  if (!(angle >= 0 && angle <= std::numbers::pi))
    throw Error(fmt::format("angle = {} is not allowed; allowed: 0 to pi radians", angle));
  constexpr double tail_of_pi = 1.2246467991473532e-16;  // pi minus its double
  if (angle == std::numbers::pi) return {kInfinity};
  if (angle > 0.5 * std::numbers::pi) return of_supplement(std::numbers::pi - angle + tail_of_pi);
  return {std::log(std::tan(0.5 * angle))};
}

PairAngle PairAngle::of_supplement(double supplement) {
  if (!(supplement >= 0 && supplement <= std::numbers::pi))
    throw Error(
        fmt::format("supplement = {} is not allowed; allowed: 0 to pi radians", supplement));
  return {-std::log(std::tan(0.5 * supplement))};
}

PairAngle PairAngle::of_degrees(double degrees) {
  if (!(degrees >= 0 && degrees <= 180))
    throw Error(fmt::format("degrees = {} is not allowed; allowed: 0 to 180", degrees));
  if (degrees == 90) return {0};
  if (degrees > 90) return of_supplement((180 - degrees) * (std::numbers::pi / 180));
  return of(degrees * (std::numbers::pi / 180));
}

PairAngle PairAngle::of_cosine(double cosine) {
  if (!(cosine >= -1 && cosine <= 1))
    throw Error(fmt::format("cosine = {} is not allowed; allowed: -1 to 1", cosine));
  return {0.5 * (std::log1p(-cosine) - std::log1p(cosine))};
}

double PairAngle::angle() const {
  if (log_tangent > 0) return std::numbers::pi - supplement();
  return 2 * std::atan(std::exp(log_tangent));
}
double PairAngle::supplement() const { return 2 * std::atan(std::exp(-log_tangent)); }
double PairAngle::cosine() const { return -std::tanh(log_tangent); }
double PairAngle::gap() const { return 2 / (1 + std::exp(-2 * log_tangent)); }
double PairAngle::log_sine() const {
  const double y = std::abs(log_tangent);
  return std::numbers::ln2 - y - std::log1p(std::exp(-2 * y));
}

MergeClock clock(const ClusterPair& pair) {
  check(pair);
  MergeClock clock{.reach = 2 * pair.beta, .slope = 1, .rest = {}};
  if (pair.rule == Rule::unnormalised) {
    clock.rest = [rest = -pair.beta - std::log(pair.mass1 + pair.mass2)](double) { return rest; };
  } else {
    clock.rest = [r = ratio(pair)](double x) {
      const double e = std::exp(-x);
      return -std::log(r / (1 + r * e) + 1 / (r + e));
    };
  }
  return clock;
}

flow::Time merge_time(const ClusterPair& pair, PairAngle from, PairAngle to) {
  return travel_time(clock(pair), from.log_tangent, to.log_tangent);
}

double log_merge_time(const ClusterPair& pair, PairAngle from, PairAngle to) {
  return merge_time(pair, from, to).log();
}

PairAngle angle_after(const ClusterPair& pair, PairAngle from, const flow::Time& time) {
  return {place_after(clock(pair), from.log_tangent, time)};
}

double log_speed(const ClusterPair& pair, PairAngle at) {
  return at.log_sine() - clock(pair).wait(at.log_tangent);
}

double lifetime_exponent(const ClusterPair& pair, PairAngle from) {
  return pair.rule == Rule::softmax ? from.gap() : -from.cosine();
}

double log_asymptotic_time(const ClusterPair& pair, PairAngle from) {
  check(pair);
  if (pair.beta <= 0 || from.antipodal()) return kInfinity;
  return pair.beta * lifetime_exponent(pair, from) - log_prefactor(pair, from);
}

double ratio_to_asymptotic(const ClusterPair& pair, PairAngle from, PairAngle to) {
  if (from.antipodal() || pair.beta < 0) return kNan;
  const MergeClock clock = meanfield::clock(pair);
  const double rest = pair.rule == Rule::softmax ? clock.rest(clock.depth(from.log_tangent))
                                                 : -std::log(pair.mass1 + pair.mass2);
  // The factor e^{c beta}, common to both times, never appears.
  return travel_time(clock, from.log_tangent, to.log_tangent).mantissa() *
         std::exp(rest + log_prefactor(pair, from));
}

double log_escape_rate(const ClusterPair& pair) {
  const MergeClock clock = meanfield::clock(pair);
  return -clock.wait_at(clock.reach);
}

}  // namespace attractor::meanfield
