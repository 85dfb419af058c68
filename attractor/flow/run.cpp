#include "attractor/flow/run.hpp"

#include <algorithm>
#include <cmath>

namespace attractor::flow {
namespace {

constexpr double kSlowest = 1e-60, kFastest = 1e60;  // speeds outside call for another unit of time

double largest_point(std::span<const double> vectors, std::size_t dim) {
  double largest = 0;
  for (std::size_t i = 0; i < vectors.size(); i += dim)
    largest = std::max(largest, norm(vectors.subspan(i, dim)));
  return largest;
}

class Loop {
 public:
  Loop(Flow& flow, const Tableau& method, const Plan& plan, Progress& progress, const Hooks& hooks)
      : flow_(flow), plan_(plan), p_(progress), hooks_(hooks), stepper_(method) {
    if (!p_.started) p_.log_unit = flow.log_unit();
    if (!method.adaptive()) plan_fixed_steps();
  }

  Status run() {
    if (!p_.started) {
      p_.started = true;
      if (flow_.simplify(p_.time, p_.state)) stepper_.restart();
      emit_due(nullptr);
      if (plan_.output_every_step) emit(p_.time, p_.state);
    }
    for (;;) {
      if (hooks_.safe_point) hooks_.safe_point(p_);
      if (hooks_.stop && hooks_.stop()) return Status::interrupted;
      if (finished()) return Status::complete;
      if (flow_.at_rest(p_.state)) return rest(Status::collapsed);
      if (p_.steps + p_.rejected >= plan_.max_steps) return Status::too_many_steps;
      const double speed = fit_unit();
      if (!std::isfinite(speed)) return Status::not_finite;
      if (speed == 0) return rest(Status::at_equilibrium);
      const Status status = stepper_.tableau().adaptive() ? adaptive_step(speed) : fixed_step();
      if (status != Status::complete) return status;
      if (flow_.simplify(p_.time, p_.state)) stepper_.restart();
    }
  }

 private:
  bool endless() const { return std::isinf(plan_.end.mantissa()); }
  bool finished() const {
    return fixed_steps_ > 0 ? p_.steps >= fixed_steps_ : plan_.end <= p_.time;
  }

  // Layers keep their step, Euler and RK4 shorten it so that the last one ends in time.
  void plan_fixed_steps() {
    const double step = Time(plan_.step).in_unit(p_.log_unit);
    const double end = plan_.end.in_unit(p_.log_unit);
    fixed_steps_ = static_cast<std::uint64_t>(std::max(1.0, std::ceil(end / step * (1 - 1e-12))));
    fixed_step_ = stepper_.tableau().layer_map ? step : end / static_cast<double>(fixed_steps_);
    if (end == 0) fixed_steps_ = 0;
  }

  // Brings the unit of time to the scale of the motion; returns the largest speed in that unit.
  double fit_unit() {
    const auto speed = [&] {
      return largest_point(stepper_.drift(flow_, p_.state, p_.log_unit), flow_.space().dim());
    };
    double present = speed();
    if (!stepper_.tableau().adaptive() || (present > kSlowest && present < kFastest))
      return present;
    const double unit = flow_.fitting_log_unit(p_.state, p_.log_unit);
    if (unit == p_.log_unit) return present;
    p_.step = std::min(1e250, Time(p_.step, p_.log_unit).in_unit(unit));
    p_.log_unit = unit;
    stepper_.restart();
    return speed();
  }

  void emit(const Time& time, std::span<const double> state) {
    if (hooks_.output) hooks_.output(time, state);
  }

  // Hands out every requested time up to now: inside `step`, or at the present state without one.
  void emit_due(const Step* step) {
    const Time now = step ? step->at(1) : p_.time;
    const bool dense = stepper_.tableau().dense != nullptr;
    bool emitted = false;
    for (; p_.next_output < plan_.outputs.size(); ++p_.next_output) {
      const Time& due = plan_.outputs[p_.next_output];
      if (now < due && !(step && !dense && due.value() <= now.value() * (1 + 1e-9))) break;
      const double theta =
          step ? (due.in_unit(step->log_unit) - step->start.in_unit(step->log_unit)) / step->h : 1;
      if (!step) {
        emit(due, p_.state);
      } else if (dense && theta < 1 - 1e-14) {
        buffer_.resize(step->after.size());
        stepper_.interpolate(std::max(0.0, theta), buffer_);
        emit(due, buffer_);
      } else if (dense) {
        emit(due, step->after);
      } else if (!emitted) {  // layers exist only at whole numbers: hand out each once
        emit(now, step->after);
        emitted = true;
      }
    }
  }

  void commit(const Step& step, const Time& after) {
    if (hooks_.step) hooks_.step(step);
    emit_due(&step);
    if (plan_.output_every_step) emit(after, step.after);
    p_.state.assign(step.after.begin(), step.after.end());
    p_.time = after;
    ++p_.steps;
    stepper_.accept();
  }

  Status fixed_step() {
    if (std::isnan(stepper_.attempt(flow_, p_.state, fixed_step_, p_.log_unit)))
      return Status::not_finite;
    const Time after(static_cast<double>(p_.steps + 1) * fixed_step_, p_.log_unit);
    commit({p_.time, fixed_step_, p_.log_unit, p_.state, stepper_.next(), stepper_}, after);
    return Status::complete;
  }

  Status adaptive_step(double speed) {
    const double remaining = plan_.end.in_unit(p_.log_unit) - p_.time.in_unit(p_.log_unit);
    // Natural units per present unit; a motion faster than natural is measured in its own unit.
    const double natural = std::exp(std::clamp(p_.log_unit - flow_.log_unit(), 0.0, 700.0));
    if (remaining <= 0) return rest(Status::complete);  // below the resolution of t
    if (p_.step == 0) p_.step = 0.1 * std::pow(plan_.tolerance, 0.25) / speed;
    bool was_rejected = false;
    for (;;) {
      const bool last = !endless() && p_.step >= remaining;
      const double h = last ? remaining : p_.step;
      const double error = stepper_.attempt(flow_, p_.state, h, p_.log_unit);
      const double length = std::min(1.0, h * natural);
      const double ratio = error / (plan_.tolerance * length);
      const double power = length < 1 ? 1. / 4 : 1. / 5;
      if (ratio <= 1) {
        const double growth = std::clamp(0.9 * std::pow(std::max(ratio, 1e-10), -power), 0.2,
                                         was_rejected ? 1.0 : 10.0);
        if (!last || growth < 1) p_.step = h * growth;
        const Time after = last ? plan_.end : p_.time.after(h, p_.log_unit);
        commit({p_.time, h, p_.log_unit, p_.state, stepper_.next(), stepper_}, after);
        return Status::complete;
      }
      was_rejected = true;
      ++p_.rejected;
      p_.step = h * (std::isnan(ratio) ? 0.1 : std::clamp(0.9 * std::pow(ratio, -power), 0.1, 0.9));
      if (p_.step * speed < 1e-18) return Status::step_underflow;
      if (p_.steps + p_.rejected >= plan_.max_steps) return Status::too_many_steps;
    }
  }

  // Nothing moves any more: the present state is the state at all later times.
  Status rest(Status outcome) {
    if (endless()) return outcome;
    p_.time = plan_.end;
    emit_due(nullptr);
    return Status::complete;
  }

  Flow& flow_;
  const Plan& plan_;
  Progress& p_;
  const Hooks& hooks_;
  Stepper stepper_;
  std::uint64_t fixed_steps_ = 0;
  double fixed_step_ = 0;
  std::vector<double> buffer_;
};

}  // namespace

Status run(Flow& flow, const Tableau& method, const Plan& plan, Progress& progress,
           const Hooks& hooks) {
  return Loop(flow, method, plan, progress, hooks).run();
}

}  // namespace attractor::flow
