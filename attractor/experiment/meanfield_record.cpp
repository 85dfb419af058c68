#include "attractor/experiment/meanfield_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "attractor/flow/run.hpp"
#include "attractor/meanfield/stability.hpp"

namespace attractor::experiment {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

constexpr std::uint64_t kMostSteps = 200'000;
// Once the first transient is over steps hardly grow again: if they are this far too short, the end
// is out of reach, and waiting would not help.
constexpr std::uint64_t kTransient = 400;
constexpr double kHopeless = 30 * static_cast<double>(kMostSteps);

/// Linear theory of the perturbed mode, and the time over which growth is measured: one e-folding,
/// or the whole run if that is shorter.
struct LinearPhase {
  double growth = kNan;
  flow::Time end{-1};
  bool known() const { return end.mantissa() > 0; }
};

LinearPhase linear_phase(const MeanfieldParameters& p) {
  if (p.start != "perturbed" || p.amplitude == 0 || p.time == 0) return {};
  const meanfield::Stability s = meanfield::stability(
      {.rule = rule_named(p.dynamics), .dim = p.dim, .beta = p.beta, .noise = p.noise}, p.mode);
  const flow::Time whole(p.time), one(1 / std::abs(s.rate[p.mode]), -s.log_unit);
  return {s.growth(p.mode), one < whole ? one : whole};
}

flow::Plan plan_of(const MeanfieldParameters& p) {
  flow::Plan plan{.end = flow::Time(p.time), .tolerance = p.tolerance, .max_steps = kMostSteps};
  for (std::uint64_t k = 0; k <= p.outputs; ++k)
    plan.outputs.emplace_back(p.time * static_cast<double>(k) / static_cast<double>(p.outputs));
  return plan;
}

class Recorder {
 public:
  Recorder(const MeanfieldParameters& p, MeanfieldSystem& system, const AskContext& context)
      : p_(p), system_(system), context_(context), phase_(linear_phase(p)) {}

  MeanfieldRecord run() {
    flow::Plan plan = plan_of(p_);
    if (phase_.known()) {
      const auto at = std::upper_bound(plan.outputs.begin(), plan.outputs.end(), phase_.end);
      growth_output_ = static_cast<std::size_t>(at - plan.outputs.begin());
      plan.outputs.insert(at, phase_.end);
    }
    record_.angles = system_.angles;
    record_.growth_measured = kNan;
    record_.growth_linear = phase_.growth;
    flow::Progress progress{.state = system_.start};
    record_.resolved = !unresolved(progress.state);
    if (record_.resolved)
      record_.status = flow::run(*system_.flow, flow::dormand_prince(), plan, progress, hooks());
    record_.reached = progress.time.value();
    record_.reached_natural = progress.time.in_unit(system_.flow->log_unit());
    record_.modes = system_.modes();
    record_.moments = system_.moments(progress.state);
    record_.resolution = system_.resolution ? system_.resolution(progress.state) : kNan;
    if (!system_.weights.empty()) record_.labels = {progress.state, system_.weights};
    return std::move(record_);
  }

 private:
  bool unresolved(std::span<const double> state) const {
    return system_.unresolved && system_.unresolved(state);
  }

  flow::Hooks hooks() {
    return {.output = [this](const flow::Time& t, std::span<const double> s) { output(t, s); },
            .step =
                [this](const flow::Step& step) {
                  if (unresolved(step.after)) record_.resolved = false;
                  if (++steps_ > kTransient) look_ahead(step);
                },
            .stop =
                [this] {
                  return !record_.resolved || record_.steps_missing > 0 || context_.stopped();
                }};
  }

  void look_ahead(const flow::Step& step) {
    const double left =
        flow::Time(p_.time).in_unit(step.log_unit) - step.start.in_unit(step.log_unit);
    if (left > kHopeless * step.h) record_.steps_missing = left / step.h;
  }

  void output(const flow::Time& time, std::span<const double> state) {
    MeanfieldMoment moment = system_.measure(state);
    moment.time = time.value();
    if (seen_++ == growth_output_ && phase_.known()) {
      const double lapse = std::exp(std::min(700.0, phase_.end.log()));
      record_.growth_measured = std::log(moment.mode / record_.history.front().mode) / lapse;
      return;
    }
    context_.tell(p_.time > 0 ? moment.time / p_.time : 1, fmt::format("t = {:.4g}", moment.time));
    record_.history.push_back(moment);
    if (!record_.angles.empty()) record_.density.push_back(system_.density(state));
  }

  const MeanfieldParameters& p_;
  MeanfieldSystem& system_;
  const AskContext& context_;
  LinearPhase phase_;
  MeanfieldRecord record_;
  std::uint64_t steps_ = 0;
  std::size_t seen_ = 0, growth_output_ = std::numeric_limits<std::size_t>::max();
};

MeanfieldRecord run_once(const MeanfieldParameters& p, const MeanfieldKind& kind, std::size_t size,
                         const AskContext& context) {
  MeanfieldSystem system = meanfield_system(p, kind, size, context.stop);
  return Recorder(p, system, context).run();
}

}  // namespace

MeanfieldRecord run_meanfield(const MeanfieldParameters& p, const MeanfieldKind& kind,
                              const AskContext& context) {
  const bool zonal_spectral = kind.geometry == Geometry::zonal && kind.spectral;
  MeanfieldRecord record = run_once(p, kind, p.modes, context);
  // The circle doubles its modes on the way; degrees on spheres are doubled from the start.
  while (zonal_spectral && p.modes == 0 && !record.resolved && record.modes < kMostDegrees)
    record = run_once(p, kind, 2 * record.modes, context);
  if (kind.spectral || p.start == "tokens" || !record.complete()) return record;
  MeanfieldParameters coarse = p;
  coarse.outputs = 1;
  const std::size_t size = p.modes > 0 ? p.modes : usual_size(kind);
  const MeanfieldRecord half = run_once(coarse, kind, std::max<std::size_t>(2, size / 2), context);
  record.resolution =
      half.complete() ? std::abs(half.history.back().order - record.history.back().order) : kNan;
  return record;
}

meanfield::WeightedPoints labels_at_end(const MeanfieldParameters& p, const MeanfieldKind& kind,
                                        const MeanfieldRecord& record, const AskContext& context) {
  if (!kind.spectral) return record.labels;
  MeanfieldParameters quick = p;
  quick.outputs = 1;
  const MeanfieldKind labels{kind.geometry, false};
  return run_once(quick, labels, kind.geometry == Geometry::circle ? 4096 : 1024, context).labels;
}

}  // namespace attractor::experiment
