#include "attractor/flow/run.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "attractor/base/numbers.hpp"
#include "attractor/base/scratch.hpp"
#include "attractor/flow/lengths.hpp"

namespace attractor::flow {
namespace {

// Steps in a row that t cannot resolve. On the sphere they are the last approach of two clusters
// after e^{c beta} (about beta of them); in R^d they are a blow-up in finite time.
constexpr std::uint64_t kStalledSteps = 20'000;
constexpr double kNoiseShare = 0.25;  // of a drift's error in an estimate, at least
constexpr double kBalanced = 40;      // ln of what a perturbation grows by meanwhile: to order one
constexpr double kCancelled = 1e-4;   // what is left of the pulls near an equilibrium
constexpr double kSlowest = 1e-60, kFastest = 1e60;  // speeds outside call for another unit of time
constexpr double kProbe = 1e-3;            // change of ln of the speed that is looked for, about
constexpr double kClockAccuracy = 1e-9;    // of ln t, in a step of displacement
constexpr double kShortestWay = 1e-16;     // no longer moves anything
constexpr double kRoundedWay = 4e-16;      // of a point on the sphere
constexpr double kPatienceOfDecade = 100;  // steps of the first method, for each tenfold time

class Loop {
 public:
  Loop(Flow& flow, const Tableau& method, const Plan& plan, Progress& progress, const Hooks& hooks)
      : flow_(flow),
        method_(method),
        plan_(plan),
        p_(progress),
        hooks_(hooks),
        stepper_(method, plan.noise) {
    // Who shares the state stops with the first one who wants to.
    if (hooks.stop) stop_ = [this] { return flow_.largest(hooks_.stop() ? 1 : 0) > 0; };
    noisy_ = method.takes(flow.noise());
    if (!p_.started) p_.log_unit = flow.log_unit();
    if (!method.adaptive()) plan_fixed_steps();
    set_noise_share();
    if (method.adaptive() && method.dense != nullptr && method.first_same_as_last && !noisy_ &&
        flow.autonomous() && !plan.stiff)
      steepness_ = flow.steepness();
  }

  Status run() {
    if (!p_.started) {
      p_.started = true;
      if (flow_.simplify(p_.time, p_.state)) stepper_.restart();
      emit_due(nullptr, p_.time);
      if (plan_.output_every_step) emit(p_.time, p_.state);
    }
    for (;;) {
      if (hooks_.safe_point) hooks_.safe_point(p_);
      if (stop_ && stop_()) return Status::interrupted;
      if (finished()) return Status::complete;
      if (!noisy_ && flow_.at_rest(p_.state)) return rest(Status::collapsed);
      if (exhausted()) return gave_up();
      if (plan_.stiff) choose_method();
      const double speed = fit_unit();
      if (!std::isfinite(speed)) return Status::not_finite;
      if (speed == 0 && !noisy_ && flow_.autonomous()) return rest(Status::at_equilibrium);
      if (endless() && settled(speed)) return Status::at_equilibrium;
      const Status status = by_way_                         ? way_step()
                            : stepper_.tableau().adaptive() ? adaptive_step(speed)
                                                            : fixed_step();
      if (status != Status::complete) return status;
      if (p_.stalled > kStalledSteps && !flow_.space().compact()) return Status::step_underflow;
      if (flow_.simplify(p_.time, p_.state)) {
        stepper_.restart();
        p_.stalled = 0;
      }
    }
  }

 private:
  bool endless() const { return std::isinf(plan_.end.mantissa()); }
  bool finished() const {
    return fixed_steps_ > 0 ? p_.steps >= fixed_steps_ : plan_.end <= p_.time;
  }

  // Errors of drifts count in an estimate as its weights do.
  void set_noise_share() {
    double weights = 0;
    for (const double e : stepper_.tableau().error) weights += std::abs(e);
    noise_share_ = std::max(kNoiseShare, 1.5 * weights);
  }

  std::uint64_t tried() const { return p_.steps + p_.rejected; }
  // What steps of the first method may have been by now: of time and of what was tried alone, so
  // that a run that is resumed goes on as it would have.
  std::uint64_t patience() const {
    const double decades = std::max(0.0, p_.time.log() / std::numbers::ln10);
    return plan_.patience + static_cast<std::uint64_t>(kPatienceOfDecade * decades);
  }
  bool exhausted() const {
    return tried() >= plan_.max_steps || (plan_.stiff && tried() >= patience() + plan_.stiff_steps);
  }
  Status gave_up() const { return held_ ? Status::too_stiff : Status::too_many_steps; }

  void choose_method() {
    const bool stiff = tried() >= patience();
    if (stiff == relieved_) return;
    stepper_ = Stepper(stiff ? *plan_.stiff : method_, plan_.noise);
    set_noise_share();
    relieved_ = stiff;
    held_ = false;
  }

  void plan_fixed_steps() {
    const FixedSteps steps = fixed_steps(plan_.end, plan_.step);
    fixed_steps_ = steps.count;
    fixed_step_ = Time(plan_.step).in_unit(p_.log_unit);
    const bool cut = !steps.whole && !stepper_.tableau().layer_map;
    const double before = static_cast<double>(std::max<std::uint64_t>(1, steps.count) - 1);
    last_step_ = cut ? plan_.end.in_unit(p_.log_unit) - before * fixed_step_ : fixed_step_;
    passes_end_ = !steps.whole && !cut;
  }

  // Brings the unit of time to the scale of the motion; returns the largest speed in that unit.
  double fit_unit() {
    const auto speed = [&] {
      const auto drift = stepper_.drift(flow_, p_.time, p_.state, p_.log_unit);
      return flow_.largest(largest_length(flow_.space(), drift, p_.state));
    };
    double present = speed();
    if (!stepper_.tableau().adaptive()) return present;
    if (!(present > kSlowest && present < kFastest)) {
      const double unit = flow_.fitting_log_unit(p_.state, p_.log_unit);
      if (unit != p_.log_unit) present = (change_unit(unit), speed());
    }
    by_way_ = false;
    if (!(steepness_.slope > 0 && present > 0 && std::isfinite(present))) return present;
    const double unit = unit_of_way(present);
    if (unit == p_.log_unit) return present;
    change_unit(unit);
    // No step before says how far the next one may go.
    if (by_way_) p_.step = std::clamp(p_.step, first_step(way_tolerance()), 1.0);
    return speed();
  }

  void change_unit(double unit) {
    p_.step = std::min(1e250, Time(p_.step, p_.log_unit).in_unit(unit));
    p_.log_unit = unit;
    stepper_.restart();
  }

  // A step of this length in the unit of speed 1: the estimate is of size h^order.
  double first_step(double tolerance) const {
    return 0.1 * std::pow(tolerance, 1.0 / (stepper_.tableau().order - 1));
  }

  // Chooses the kind of the next step by the state alone, and returns the unit of time for it.
  double unit_of_way(double present) {
    constexpr double kSame = 1e-6;
    const double natural = flow_.log_unit();
    double unit = p_.log_unit - std::log(present);
    if (natural - unit < std::log(steepness_.slow)) {
      const auto drift = stepper_.drift(flow_, p_.time, p_.state, p_.log_unit);
      unit = p_.log_unit - std::log(norm(drift));
      if (std::abs(unit - p_.log_unit) < kSame) unit = p_.log_unit;
      by_way_ = speeds_up(unit);
    }
    if (by_way_) return unit;
    const bool in_range = std::abs(natural - unit) < -std::log(kSlowest);
    return in_range ? natural : p_.log_unit;
  }

  // Near an equilibrium, where pulls cancel, the direction means nothing.
  bool speeds_up(double unit) {
    const Space& space = flow_.space();
    const std::size_t dim = space.dim();
    std::vector<double> way(p_.state.size()), ahead(p_.state), there(p_.state.size());
    const double here = direction(flow_, p_.state, unit, way);
    if (kCancelled * flow_.balance(p_.state, way, here).pull > 1) return false;
    for (std::size_t c = 0; c < ahead.size(); ++c) ahead[c] += kProbe / steepness_.slope * way[c];
    for (std::size_t i = 0; i < ahead.size(); i += dim)
      space.retract(std::span(ahead).subspan(i, dim));
    return direction(flow_, ahead, unit, there) < here;
  }

  // Near an equilibrium steps follow the pulls, not the little that is left of them: explicit steps
  // longer than that would stir the state up to the tolerance.
  bool settled(double speed) {
    longest_step_ = kInfinity;
    pull_ = 0;
    if (noisy_ || !flow_.autonomous()) return false;
    const std::span<const double> drift = stepper_.drift(flow_, p_.time, p_.state, p_.log_unit);
    const Balance balance = flow_.balance(p_.state, drift, p_.log_unit);
    if (speed <= kCancelled * balance.pull) longest_step_ = 1 / balance.pull;
    if (!balance.by_rounding) p_.balanced = 0;
    if (balance.by_rounding) pull_ = balance.pull;
    return p_.balanced >= kBalanced;
  }

  void emit(const Time& time, std::span<const double> state) {
    if (hooks_.output) hooks_.output(time, state);
  }

  // Hands out every requested time up to now: inside `step`, or at the present state without one.
  void emit_due(const Step* step, const Time& now) {
    const bool dense = stepper_.tableau().dense != nullptr;
    // Whole steps are meant where fixed steps are counted: k h is known to rounding of t only.
    const bool counted = step && !stepper_.tableau().adaptive();
    const double slack = counted ? 1e-9 + 1e-15 * static_cast<double>(p_.steps) : 1e-14;
    bool emitted = false;
    for (; p_.next_output < plan_.outputs.size(); ++p_.next_output) {
      const Time& due = plan_.outputs[p_.next_output];
      const double share =
          step ? (due.in_unit(step->log_unit) - step->start.in_unit(step->log_unit)) / step->h : 1;
      if (now < due && !(counted && share < 1 + slack)) break;
      if (!step) {
        emit(due, p_.state);
      } else if (dense && share < 1 - slack) {
        const Scratch<double> inside(step->after.size());
        const std::span<double> state(inside.get(), step->after.size());
        stepper_.interpolate(step->clock.theta(std::max(0.0, share)), state);
        flow_.carry(step->stretch(), std::max(0.0, share));
        emit(due, state);
      } else if (dense) {
        flow_.carry(step->stretch(), 1);
        emit(due, step->after);
      } else if (!emitted) {  // layers exist only at whole numbers: hand out each once
        emit(now, step->after);
        emitted = true;
      }
    }
  }

  void commit(const Step& step, const Time& after) {
    if (hooks_.step) hooks_.step(step);
    emit_due(&step, after);
    flow_.advance(step.stretch());
    if (plan_.output_every_step) emit(after, step.after);
    stepper_.accept(p_.state);
    p_.stalled = p_.time < after ? 0 : p_.stalled + 1;
    if (pull_ > 0) p_.balanced += Time(step.h, step.log_unit).in_unit(p_.log_unit) * pull_;
    p_.time = after;
    ++p_.steps;
  }

  Status fixed_step() {
    const bool last = p_.steps + 1 == fixed_steps_;
    const double h = last ? last_step_ : fixed_step_;
    const auto error = stepper_.attempt(flow_, p_.time, p_.state, h, p_.log_unit, stop_, p_.steps);
    if (!error) return Status::interrupted;
    if (std::isnan(*error)) return Status::not_finite;
    stepper_.prepare_dense(flow_, p_.time, p_.log_unit);
    const Time counted(static_cast<double>(p_.steps + 1) * fixed_step_, p_.log_unit);
    const Time after = last && !passes_end_ ? plan_.end : counted;
    commit({p_.time, h, p_.log_unit, p_.state, stepper_.next(), stepper_, even_}, after);
    return Status::complete;
  }

  Status adaptive_step(double speed) {
    const double remaining = plan_.end.in_unit(p_.log_unit) - p_.time.in_unit(p_.log_unit);
    // Errors count per natural unit of time, or per unit of displacement where the motion is
    // faster.
    const double pace = std::max(speed, std::exp(std::min(700.0, p_.log_unit - flow_.log_unit())));
    if (remaining <= 0) return rest(Status::complete);  // below the resolution of t
    // The estimate is of size h^order, and is held at the tolerance for a unit of time.
    const double order = stepper_.tableau().order;
    if (p_.step == 0) p_.step = first_step(plan_.tolerance) / (speed > 0 ? speed : pace);
    const double noise = noise_share_ * flow_.largest(flow_.drift_error());
    const double loosened = p_.loosened;
    Rejected before;
    bool was_rejected = false;
    double whole = 0;  // the step before it was cut short at the end of a piece
    const double longest =
        std::min(longest_step_, stepper_.longest_step(flow_, p_.state, p_.log_unit));
    if (longest == 0) return Status::step_underflow;  // no derivative to follow
    const double first_step = p_.step;
    const std::uint64_t rejected = p_.rejected;
    for (;;) {
      const bool last = !endless() && std::min(p_.step, longest) >= remaining;
      const double h = last ? remaining : std::min(p_.step, longest);
      held_ = relieved_ && h == longest;
      const auto error = stepper_.attempt(flow_, p_.time, p_.state, h, p_.log_unit, stop_);
      if (!error) {  // as if this step had not begun
        p_.step = first_step;
        p_.rejected = rejected;
        p_.loosened = loosened;
        return Status::interrupted;
      }
      const double length = std::min(1.0, h * pace);
      const double ratio = *error == 0 ? 0 : *error / (tolerance() * length);
      const double power = length < 1 ? 1 / (order - 1) : 1 / order;
      if (ratio <= 1) {
        stepper_.prepare_dense(flow_, p_.time, p_.log_unit);
        const double share = flow_.share_in_piece(
            [&](double theta, std::span<double> state) { stepper_.interpolate(theta, state); });
        if (share < 1) {
          whole = std::max(whole, h);
          p_.step = h * share;
          continue;
        }
        const double growth = std::clamp(0.9 * std::pow(std::max(ratio, 1e-10), -power), 0.2,
                                         was_rejected ? 1.0 : 10.0);
        if (!last || growth < 1) p_.step = std::max(whole, h * growth);
        const Time after = last ? plan_.end : p_.time.after(h, p_.log_unit);
        commit({p_.time, h, p_.log_unit, p_.state, stepper_.next(), stepper_, even_}, after);
        return Status::complete;
      }
      was_rejected = true;
      ++p_.rejected;
      loosen(noise, *error / length, h, before);
      p_.step = h * (std::isnan(ratio) ? 0.1 : std::clamp(0.9 * std::pow(ratio, -power), 0.1, 0.9));
      // A flow that depends on time may speed up within the step.
      if (p_.step * (flow_.autonomous() ? speed : pace) < 1e-18) return Status::step_underflow;
      if (exhausted()) return gave_up();
    }
  }

  // ln of the time in natural units, at least 1.
  double log_time() const { return std::max(1.0, p_.time.log() - flow_.log_unit()); }
  // Lifetimes at a distance delta have ln t ~ slope delta^2 / 2 and change by slope delta per
  // displacement: this holds their relative error.
  double way_tolerance() const {
    return plan_.tolerance * std::min(1.0, 10 * std::sqrt(log_time() / (2 * steepness_.slope)));
  }

  // A step of displacement p_.step. A direction is known to rounding / speed only while something
  // contracts at a rate of one: where shorter steps are seen not to be better ones, one of time.
  Status way_step() {
    const double order = stepper_.tableau().order, first = p_.step, unit = p_.log_unit;
    const std::uint64_t rejected = p_.rejected;
    bool was_rejected = false;
    Rejected before;
    double cut = 1;  // share of the way at which the plan ends
    for (;;) {
      const double h = cut * std::min(p_.step, longest_step_);
      if (!(h > kShortestWay)) return cut < 1 ? rest(Status::complete) : Status::step_underflow;
      const auto error = stepper_.attempt_way(flow_, p_.state, h, p_.log_unit, stop_);
      if (!error) return forget_step(first, unit, rejected);
      const double allowed = std::max(way_tolerance() * std::min(1.0, h), kRoundedWay);
      double ratio = *error == 0 ? 0 : *error / allowed;
      if (ratio <= 1) {
        stepper_.prepare_dense(flow_, p_.time, p_.log_unit);
        const Clock clock = stepper_.clock(flow_, p_.time, kClockAccuracy * log_time());
        const double remaining =
            plan_.end.in_unit(clock.log_unit()) - p_.time.in_unit(clock.log_unit());
        if (remaining <= 0) return rest(Status::complete);
        if (!(clock.time() > 0 && clock.error() < 1)) {
          ratio = kNan;
        } else if (!endless() && cut == 1 && remaining <= clock.time()) {
          cut = std::min(1.0 - 1e-9, clock.theta(remaining / clock.time()));
          continue;
        } else {
          const double growth = std::clamp(0.9 * std::pow(std::max(ratio, 1e-10), -1 / (order - 1)),
                                           0.2, was_rejected ? 1.0 : 10.0);
          if (cut == 1) p_.step = h * growth;
          commit_way(clock, h, cut < 1);
          return Status::complete;
        }
      }
      was_rejected = true;
      ++p_.rejected;
      if (before.h > 0 && *error / h > before.error / before.h * std::sqrt(h / before.h) &&
          std::abs(flow_.log_unit() - unit) < -std::log(kSlowest)) {
        const Status status = step_of_time();
        return status == Status::interrupted ? forget_step(first, unit, rejected) : status;
      }
      before = {*error, h};
      p_.step =
          h *
          (std::isnan(ratio) ? 0.1 : std::clamp(0.9 * std::pow(ratio, -1 / (order - 1)), 0.1, 0.9));
      cut = 1;
      if (p_.steps + p_.rejected >= plan_.max_steps) return Status::too_many_steps;
    }
  }

  // As if this step had not begun.
  Status forget_step(double step, double unit, std::uint64_t rejected) {
    p_.step = step;
    p_.log_unit = unit;
    p_.rejected = rejected;
    return Status::interrupted;
  }

  Status step_of_time() {
    change_unit(flow_.log_unit());
    const auto drift = stepper_.drift(flow_, p_.time, p_.state, p_.log_unit);
    return adaptive_step(largest_length(flow_.space(), drift, p_.state));
  }

  // The drift is found anew, in the unit of the end: as a run that begins here would.
  void commit_way(const Clock& clock, double length, bool last) {
    const double h = clock.time(), unit = clock.log_unit(), unit_after = stepper_.unit_at_end();
    const Time after = last ? plan_.end : p_.time.after(h, unit);
    commit({p_.time, h, unit, p_.state, stepper_.next(), stepper_, clock,
            Stretch::Way{length, p_.log_unit, unit_after}},
           after);
    p_.log_unit = unit_after;
    stepper_.restart();
  }

  double tolerance() const { return std::max(plan_.tolerance, p_.loosened); }

  // Errors of the method fall like h^2 per unit of time or faster, those of the drift itself not at
  // all. If a shorter step was hardly better and `noise` explains it, shorter ones would never be
  // accepted.
  struct Rejected {
    double error = 0, h = 0;
  };
  void loosen(double noise, double error, double h, Rejected& before) {
    const bool falls = before.h == 0 || error <= before.error * std::pow(h / before.h, 1.5);
    if (!falls && noise > tolerance()) p_.loosened = std::min(noise, 2 * error);
    before = {error, h};
  }

  // Nothing moves any more: the present state is the state at all later times.
  Status rest(Status outcome) {
    if (endless()) return outcome;
    const double unit = plan_.end.log();
    const double start = p_.time.in_unit(unit), h = plan_.end.in_unit(unit) - start;
    const Stretch stretch{.start = p_.time,
                          .h = h,
                          .log_unit = unit,
                          .before = p_.state,
                          .after = {},
                          .at = [&](double, std::span<double> out) {
                            std::copy(p_.state.begin(), p_.state.end(), out.begin());
                          }};
    for (; p_.next_output < plan_.outputs.size(); ++p_.next_output) {
      const Time& due = plan_.outputs[p_.next_output];
      if (plan_.end < due) break;
      flow_.carry(stretch, std::clamp((due.in_unit(unit) - start) / h, 0.0, 1.0));
      emit(due, p_.state);
    }
    flow_.advance(stretch);
    p_.time = plan_.end;
    return Status::complete;
  }

  Flow& flow_;
  const Tableau& method_;
  const Plan& plan_;
  Progress& p_;
  const Hooks& hooks_;
  std::function<bool()> stop_;
  Stepper stepper_;
  std::uint64_t fixed_steps_ = 0;
  double fixed_step_ = 0, last_step_ = 0, noise_share_ = 0;
  bool passes_end_ = false;                     // the last layer
  double longest_step_ = kInfinity, pull_ = 0;  // in balance
  bool noisy_ = false;
  Steepness steepness_;
  bool by_way_ = false;    // the next step is one of displacement
  bool relieved_ = false;  // by the plan's stiff method
  bool held_ = false;      // the last step was as long as one of that can be
  const Clock even_;
};

}  // namespace

Stretch Step::stretch() const {
  return {.start = start,
          .h = h,
          .log_unit = log_unit,
          .before = before,
          .after = after,
          .at = [this](double share, std::span<double> out) { state_at(clock.theta(share), out); },
          .way = way};
}

void Step::state_at(double theta, std::span<double> out) const {
  if (theta > 0 && theta < 1 && stepper.tableau().dense != nullptr)
    return stepper.interpolate(theta, out);
  const auto whole = theta < 1 ? before : after;
  std::copy(whole.begin(), whole.end(), out.begin());
}

FixedSteps fixed_steps(const Time& end, double step) {
  constexpr double kRounding = 16 * std::numeric_limits<double>::epsilon(), kLargest = 1e18;
  const double steps = end.value() / step, nearest = std::round(steps);
  if (!(steps > 0)) return {};
  const bool whole = nearest >= 1 && std::abs(steps - nearest) <= kRounding * steps;
  return {static_cast<std::uint64_t>(std::min(kLargest, whole ? nearest : std::ceil(steps))),
          whole};
}

Status run(Flow& flow, const Tableau& method, const Plan& plan, Progress& progress,
           const Hooks& hooks) {
  return Loop(flow, method, plan, progress, hooks).run();
}

}  // namespace attractor::flow
