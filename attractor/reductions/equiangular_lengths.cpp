#include "attractor/reductions/equiangular_lengths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/flow/run.hpp"
#include "attractor/space/space.hpp"

namespace attractor::meanfield {
namespace {

constexpr double kLongest = 1e4;     // ln r
constexpr double kSteepPower = 600;  // exponents above are kept as logarithms
constexpr double kStopped = 1e-17;

/// beta r^2 w, where r^2 overflows too.
double exponent(const EquiangularCurve& curve, double x, double log_norm) {
  if (log_norm < 300) return curve.beta * std::exp(2 * log_norm) * curve.gap(x);
  return std::exp(std::log(curve.beta) + 2 * log_norm + curve.log_gap(x));
}

/// dx, d ln r and dt / r over dx + d ln r.
struct Rates {
  double position, length, time;
};

Rates rates(const EquiangularCurve& curve, double x, double log_norm) {
  const double power = exponent(curve, x, log_norm), n = curve.tokens;
  if (power > kSteepPower) return {2 * n * std::exp(-power), 1, 1};
  const double e = std::expm1(power), s = curve.sigma(x), all = 2 * n + e + s;
  return {2 * n / all, (e + s) / all, std::sqrt(e * e + 2 * e * s + n * s) / all};
}

/// Once the exponent grows by itself, x moves less than this from here on.
double way_left(const EquiangularCurve& curve, double x, double log_norm) {
  const double power = exponent(curve, x, log_norm);
  return power > 1 ? 2 * curve.tokens * std::exp(-power) / power : kInfinity;
}

}  // namespace

class LengthClock::Motion final : public flow::Flow {
 public:
  Motion(const EquiangularCurve& curve, double start) : curve_(curve), start_(start) {}
  const Space& space() const override { return space_; }
  void drift(std::span<const double> y, double log_unit, std::span<double> out) const override {
    const Rates r = rates(curve_, start_ + y[0], y[1]);
    const double unit = std::exp(log_unit);
    out[0] = unit * r.position;
    out[1] = unit * r.length;
    out[2] = unit * (r.time - y[2] * r.length);
  }

 private:
  Euclidean space_{3};
  EquiangularCurve curve_;
  double start_;
};

double LengthClock::Knot::log_time() const { return state[1] + std::log(state[2]); }

LengthClock::LengthClock(const EquiangularCurve& curve, double start)
    : curve_(curve), start_(start) {
  Motion motion(curve, start);
  flow::Progress progress{.state = {0, 0, 0}};
  knots_.push_back({0, {0, 0, 0}});
  flow::Hooks hooks;
  hooks.step = [&](const flow::Step& step) {
    knots_.push_back({step.at(1).value(), {step.after[0], step.after[1], step.after[2]}});
    stopped_ = way_left(curve_, start_ + step.after[0], step.after[1]) < kStopped;
  };
  hooks.stop = [&] { return stopped_ || knots_.back().state[1] > kLongest; };
  const flow::Status status =
      flow::run(motion, flow::dormand_prince_8(), {.tolerance = 1e-14}, progress, hooks);
  if (status != flow::Status::interrupted)
    throw Error(fmt::format("the lengths of {} equiangular tokens (beta = {}) cannot be followed",
                            curve.tokens, curve.beta));
}

LengthClock::State LengthClock::after(const Knot& knot, double further) const {
  if (further == 0) return knot.state;
  flow::Stepper stepper(flow::dormand_prince_8());
  const Motion motion(curve_, start_);
  stepper.attempt(motion, flow::Time(knot.at), knot.state, further, 0);
  return {stepper.next()[0], stepper.next()[1], stepper.next()[2]};
}

// `excess` increases along the way, and changes its sign after this knot, before the next one.
LengthClock::State LengthClock::solve(std::size_t knot,
                                      const std::function<double(const State&)>& excess) const {
  double low = 0, high = knots_[knot + 1].at - knots_[knot].at;
  double below = excess(knots_[knot].state), above = excess(knots_[knot + 1].state);
  State found = knots_[knot].state;
  for (int k = 0; k < 200 && high - low > 1e-16 * high; ++k) {
    // A secant through both ends, and halves (of the logarithm near 0) where that is slow.
    double middle = low + (high - low) * below / (below - above);
    if (k % 3 == 2 || !(middle > low && middle < high))
      middle = low == 0 ? high / 16 : (low + high) / 2;
    found = after(knots_[knot], middle);
    const double value = excess(found);
    if (value == 0) break;
    (value < 0 ? low : high) = middle;
    (value < 0 ? below : above) = value;
  }
  return found;
}

// After the stop r grows by what t does.
LengthClock::State LengthClock::at(double log_time) const {
  if (std::isinf(log_time)) return knots_.front().state;
  const Knot& last = knots_.back();
  if (log_time >= last.log_time()) {
    if (!stopped_)
      throw Error(fmt::format("ln t = {} is not allowed; allowed: up to {} (tokens still turn)",
                              log_time, last.log_time()));
    const double log_norm =
        log_time + std::log1p(-std::exp(last.state[1] - log_time) * (last.state[2] - 1));
    return {last.state[0], log_norm, std::exp(log_time - log_norm)};
  }
  const auto next = std::upper_bound(knots_.begin(), knots_.end(), log_time,
                                     [](double t, const Knot& k) { return t < k.log_time(); });
  const auto knot = static_cast<std::size_t>(next - knots_.begin()) - 1;
  return solve(knot, [&](const State& y) { return y[2] * std::exp(y[1] - log_time) - 1; });
}

double LengthClock::moved(double log_time) const { return at(log_time)[0]; }
double LengthClock::log_norm(double log_time) const { return at(log_time)[1]; }
double LengthClock::limit() const { return stopped_ ? knots_.back().state[0] : kInfinity; }

double LengthClock::log_time(double moved) const {
  if (moved == 0) return -kInfinity;
  if (moved >= knots_.back().state[0]) return kInfinity;
  const auto next = std::upper_bound(knots_.begin(), knots_.end(), moved,
                                     [](double m, const Knot& k) { return m < k.state[0]; });
  const auto knot = static_cast<std::size_t>(next - knots_.begin()) - 1;
  const State y = solve(knot, [&](const State& z) { return z[0] - moved; });
  return y[1] + std::log(y[2]);
}

double LengthClock::log_pace(double moved, double log_norm) const {
  const double x = start_ + moved;
  const double power = exponent(curve_, x, log_norm);
  if (power > kSteepPower) return log_norm + power - std::log(2 * curve_.tokens);
  const Rates r = rates(curve_, x, log_norm);
  return log_norm + std::log(r.time / r.position);
}

}  // namespace attractor::meanfield
