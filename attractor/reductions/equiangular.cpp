#include "attractor/reductions/equiangular.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numbers>
#include <optional>

#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/reductions/equiangular_clock.hpp"
#include "attractor/reductions/equiangular_lengths.hpp"

namespace attractor::meanfield {
namespace {

constexpr double kMostLogTime = 1e300;

bool damped(Normalisation n) { return scheme(n).pace == Pace::damped; }

/// From the start on.
bool grows(Normalisation n) { return scheme(n).grows && !scheme(n).switches; }

// What steady clocks are divided by.
double log_scale(const Equiangular& e) {
  const Pace pace = scheme(e.norm).pace;
  if (pace == Pace::alpha) return -std::log(e.alpha);
  return pace == Pace::scaled ? std::log(e.deepnorm_scale) : 0;
}

Clock clock_of(const Equiangular& e) {
  if (e.rule == Rule::unnormalised) return Clock::unnormalised;
  return scheme(e.norm).unit ? Clock::unit : Clock::softmax;
}

// Both damped schemes run undamped ones at 2 (sqrt(1 + t) - 1) = 2t / (1 + sqrt(1 + t)).
double damp(double log_time) {
  if (log_time > 80) return std::numbers::ln2 + log_time / 2;
  return std::numbers::ln2 + log_time - std::log1p(std::sqrt(1 + std::exp(log_time)));
}
double undamp(double log_time) {
  if (log_time > 80) return 2 * log_time - 2 * std::numbers::ln2;
  return log_time + std::log1p(std::exp(log_time) / 4);
}

double log_sum(double a, double b) {
  if (std::isinf(a) && a < 0) return b;
  return std::max(a, b) + std::log1p(std::exp(-std::abs(a - b)));
}

void require(bool ok, const char* what, double value, const std::string& allowed) {
  if (!ok) throw Error(fmt::format("{} = {} is not allowed; allowed: {}", what, value, allowed));
}

double simplex(double tokens) { return -1 / (tokens - 1); }

/// Below beta = 0 attention may shorten tokens that grow, to nothing in finite time, unless s + E >
/// 0.
void check_growth(const Equiangular& e) {
  const Scheme& row = scheme(e.norm);
  if (row.sees_length)
    throw Error(fmt::format("beta = {} is not allowed with norm = {}; allowed: 0 to 1e6", e.beta,
                            name(e.norm)));
  const double sigma = std::fma(e.tokens - 1, e.cosine0, 1.0);
  if (row.grows && !(sigma + std::expm1(e.beta * (1 - e.cosine0)) > 0))
    throw Error(
        fmt::format("cosine0 = {} is not allowed with norm = {} at beta = {}: tokens would shrink "
                    "to nothing; allowed: 0 to below 1",
                    e.cosine0, name(e.norm), e.beta));
}

}  // namespace

void check(const Equiangular& e) {
  require(e.tokens >= 2 && e.tokens <= 1e30, "tokens", e.tokens, "2 to 1e30");
  require(e.beta >= -20 && e.beta <= 1e6, "beta", e.beta, "-20 to 1e6");
  require(e.cosine0 >= simplex(e.tokens) && e.cosine0 < 1, "cosine0", e.cosine0,
          fmt::format("{} (the simplex of {} tokens) to below 1", simplex(e.tokens), e.tokens));
  require(e.alpha > 0 && e.alpha <= 1e6, "alpha", e.alpha, "above 0 to 1e6");
  require(e.switch_time >= 0 && e.switch_time <= 1e15, "switch time", e.switch_time, "0 to 1e15");
  require(e.deepnorm_scale >= 1e-6 && e.deepnorm_scale <= 1e6, "deepnorm scale", e.deepnorm_scale,
          "1e-6 to 1e6");
  if (e.rule == Rule::unnormalised && e.norm != Normalisation::post)
    throw Error(
        fmt::format("norm = {} needs softmax attention (sa); usa allows post only", name(e.norm)));
  if (e.beta < 0) check_growth(e);
}

/// The flow in the position x of equiangular_clock.hpp: ln t of a distance moved, and back.
struct EquiangularFlow::Solution {
  Equiangular e;
  EquiangularCurve curve;
  bool fixed;  // the simplex
  double start;
  std::optional<EquiangularClock> clock{};  // constant norm; the post part of mix
  std::optional<GrowingClock> growing{};    // from `start`, for mix from where it switches
  std::optional<LengthClock> lengths{};     // where attention sees the growing norm
  double switched = kInfinity;              // mix: distance moved when it switches
  double log_switch = kInfinity;

  explicit Solution(const Equiangular& problem)
      : e(problem),
        curve{e.tokens, e.beta},
        fixed(e.cosine0 == simplex(e.tokens)),
        start(fixed ? -kInfinity : curve.position(e.cosine0)) {
    if (mix()) log_switch = std::log(e.switch_time);
    if (fixed || !std::isfinite(start)) {
      fixed = true;
      return;
    }
    if (scheme(e.norm).sees_length && e.beta > 0)
      lengths.emplace(curve, start);
    else if (grows(e.norm))
      growing.emplace(curve, start, clock_of(e));
    else
      clock.emplace(curve, start, clock_of(e));
    if (mix()) {
      switched = clock->moved(log_switch);
      if (std::isfinite(switched)) growing.emplace(curve, start + switched, Clock::softmax);
    }
  }

  /// Time on the undamped, unscaled clock.
  double inner(double log_time) const {
    return damped(e.norm) ? damp(log_time) : log_time - log_scale(e);
  }
  double outer(double log_time) const {
    return damped(e.norm) ? undamp(log_time) : log_time + log_scale(e);
  }

  bool mix() const { return scheme(e.norm).switches; }
  /// mix: ln of the time since it switched.
  double since_switch(double log_time) const {
    return log_time + std::log1p(-std::exp(log_switch - log_time));
  }

  double moved(double log_time) const {
    const double time = inner(log_time);
    if (lengths) return lengths->moved(time);
    if (mix() && time > log_switch && growing) return switched + growing->moved(since_switch(time));
    return grows(e.norm) ? growing->moved(time) : clock->moved(time);
  }

  double log_time(double moved) const {
    if (lengths) return outer(lengths->log_time(moved));
    if (mix() && growing && moved >= switched)
      return log_sum(log_switch, growing->log_time(moved - switched));
    return outer(grows(e.norm) ? growing->log_time(moved) : clock->log_time(moved));
  }

  double log_norm(double moved, double log_time) const {
    const double time = inner(log_time);
    if (std::isinf(time)) return 0;
    if (lengths) return lengths->log_norm(time);
    if (mix() && time > log_switch && growing)
      return growing->log_norm(moved - switched, since_switch(time));
    return grows(e.norm) ? growing->log_norm(moved, time) : 0;
  }

  /// At the simplex nothing turns, but A = (p_0 - p) theta still lengthens the tokens.
  double log_norm_at_rest(double log_time) const {
    if (!grows(e.norm) && !mix()) return 0;
    const double others = std::exp(-e.beta * e.tokens / (e.tokens - 1));
    const double lead = (1 - others) / (1 + (e.tokens - 1) * others);
    double time = inner(log_time);
    if (mix()) {
      if (!(time > log_switch)) return 0;
      time = since_switch(time);
    }
    const double log_rate = clock_of(e) == Clock::unit && lead > 0 ? 0 : std::log(lead);
    return std::isinf(time) ? 0 : log_sum(log_rate + time, 0);
  }

  /// ln of d cosine / dt = (w s / n) dx/dt.
  double log_speed(double moved, double log_time) const {
    const double x = start + moved;
    const double norm = log_norm(moved, log_time);
    double pace = lengths ? lengths->log_pace(moved, norm) : log_pace(curve, clock_of(e), x) + norm;
    pace += damped(e.norm) ? log_sum(0, log_time) / 2 : log_scale(e);
    return curve.log_gap(x) + curve.log_sigma(x) - std::log(e.tokens) - pace;
  }

  Arrival arrival(double position) const {
    const double way = position - start;
    if (fixed || !(way >= 0) || (lengths && way >= lengths->limit()))
      return {Arrival::Status::never, kInfinity};
    const double when = way > 0 ? log_time(way) : -kInfinity;
    if (when > kMostLogTime) return {Arrival::Status::beyond_range, kInfinity};
    return {Arrival::Status::reached, when};
  }
};

EquiangularFlow::EquiangularFlow(const Equiangular& e) {
  check(e);
  solution_ = std::make_unique<const Solution>(e);
}
EquiangularFlow::~EquiangularFlow() = default;
EquiangularFlow::EquiangularFlow(EquiangularFlow&&) noexcept = default;

const Equiangular& EquiangularFlow::problem() const { return solution_->e; }

EquiangularState EquiangularFlow::at(double log_time) const {
  require(log_time <= kMostLogTime, "ln t", log_time, "at most 1e300");
  const Solution& s = *solution_;
  if (s.fixed)
    return {s.e.cosine0, std::log1p(-s.e.cosine0), s.log_norm_at_rest(log_time), -kInfinity};
  const bool at_start = std::isinf(log_time);
  const double moved = at_start ? 0 : s.moved(log_time), x = s.start + moved;
  if (std::isinf(x)) return {1, -kInfinity, 0, -kInfinity};
  // At the start the cosine as it was given, not what is left of it after a logarithm; 0 for -0.
  return {moved == 0 ? s.e.cosine0 : s.curve.cosine(x),
          moved == 0 ? std::log1p(-s.e.cosine0) + 0.0 : s.curve.log_gap(x),
          s.log_norm(moved, log_time), s.log_speed(moved, log_time)};
}

Arrival EquiangularFlow::arrival(double cosine) const {
  require(cosine >= -1 && cosine < 1, "level", cosine, "-1 to below 1");
  if (cosine < solution_->e.cosine0) return {Arrival::Status::never, kInfinity};
  return solution_->arrival(solution_->curve.position(cosine));
}

Arrival EquiangularFlow::arrival_at_gap(double log_gap) const {
  require(log_gap <= std::numbers::ln2 && std::isfinite(log_gap), "ln(1 - cosine)", log_gap,
          "a finite number up to ln 2");
  return solution_->arrival(solution_->curve.position_at_gap(log_gap));
}

Arrival EquiangularFlow::half_collapse() const {
  return arrival_at_gap(std::log1p(-solution_->e.cosine0) - std::numbers::ln2);
}

// Far out the clocks of constant norm are linear in x and w = n e^{-x}; growing norms have
// w r^2 -> constant with r -> t (or 2 sqrt(t) where depth damps).
double EquiangularFlow::log_tail(double log_time) const {
  const Solution& s = *solution_;
  if (s.fixed) return std::log1p(-s.e.cosine0);
  const double log_k = log_terminal_constant();
  if (s.lengths) return log_k;
  if (s.mix()) return log_time > s.log_switch ? log_k - 2 * s.since_switch(log_time) : kNan;
  if (s.growing)
    return log_k - (damped(s.e.norm) ? log_time + 2 * std::numbers::ln2 : 2 * log_time);
  const bool usa = s.e.rule == Rule::unnormalised;
  const double log_rate = std::numbers::ln2 + (usa ? s.e.beta : 0);
  return std::log(s.e.tokens) + (usa ? s.e.tokens : 1) * log_k -
         std::exp(log_rate + s.inner(log_time));
}

// See the header. On nGPT's clock E has died out and s = n at `far`, so 2t - (x - x_0) is its
// limit.
double EquiangularFlow::log_terminal_constant() const {
  const Solution& s = *solution_;
  if (s.lengths)
    return std::isinf(s.lengths->limit()) ? kNan : s.curve.log_gap(s.start + s.lengths->limit());
  if (s.growing) return s.growing->log_constant();
  if (s.fixed || s.mix()) return kNan;
  if (clock_of(s.e) == Clock::unit) {
    const double far =
        std::fmax(0, std::log(s.e.tokens) - s.start) + 60 + std::log1p(std::abs(s.e.beta));
    return 2 * std::exp(s.clock->log_time(far)) - far - s.start;
  }
  if (s.e.rule == Rule::softmax) return 2 * s.clock->excess(kInfinity) - s.start;
  const EquiangularClock softmax(s.curve, s.start, Clock::softmax);
  return 2 * softmax.excess(kInfinity) - s.start / s.e.tokens;
}

// t = x / 2 + J and w -> n e^{-x}, so that w -> n e^{2J} e^{-2t} from x = 0.
double log_terminal_constant(double tokens, double beta) {
  check({.tokens = tokens, .beta = beta});
  const EquiangularClock clock({tokens, beta}, 0, Clock::softmax);
  return 2 * clock.excess(kMostLogTime);
}

double energy_ratio(double tokens, double beta, double log_gap) {
  return (1 + (tokens - 1) * std::exp(-beta * std::exp(log_gap))) / tokens;
}

// Central differences of fourth order. The exact ln t varies on the scale 1 in beta (where e^{beta
// w} overtakes n; beta is below 100 there unless w is small) and on the scale 1 in ln n. A step of
// 1e-3 leaves 1e-12 from truncation and 1e-13 |ln t| from rounding; beyond beta = 100 it grows with
// beta, as the rounding of ln t ~ beta does. Below the orthogonal start the distance to the simplex
// is a scale too.
Sensitivity EquiangularFlow::sensitivity(double log_gap) const {
  const Equiangular& e = solution_->e;
  const Arrival arrival = arrival_at_gap(log_gap);
  if (arrival.status != Arrival::Status::reached || std::isinf(arrival.log_time))
    return {kNan, kNan, kNan, kNan};
  // Shifted problems may lie just outside what check() allows: the formulas hold there.
  const auto log_time = [&](double by_beta, double by_log_tokens) {
    Equiangular shifted = e;
    shifted.beta += by_beta;
    shifted.tokens *= std::exp(by_log_tokens);
    const Solution solution(shifted);
    return solution.arrival(solution.curve.position_at_gap(log_gap)).log_time;
  };
  const auto slope = [](const auto& f, double h) {
    return (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h);
  };
  const double sigma = std::fma(e.tokens - 1, e.cosine0, 1.0);
  const double room = e.cosine0 < 0 ? std::min(1.0, -sigma / (e.tokens * e.cosine0)) : 1;
  Sensitivity s;
  s.log_time_by_beta =
      slope([&](double h) { return log_time(h, 0); }, 1e-3 * std::max(1.0, e.beta / 100));
  s.log_time_by_log_tokens = slope([&](double h) { return log_time(0, h); }, 1e-3 * room);
  // g(t(g; b); b) is constant: dg/db at fixed t = -(dg / d ln t)(d ln t / db at fixed g).
  const double way = solution_->curve.position_at_gap(log_gap) - solution_->start;
  const double rise = std::exp(solution_->log_speed(way, arrival.log_time) + arrival.log_time);
  s.cosine_by_beta = -rise * s.log_time_by_beta + 0.0;  // 0 for -0
  s.cosine_by_log_tokens = -rise * s.log_time_by_log_tokens + 0.0;
  return s;
}

}  // namespace attractor::meanfield
