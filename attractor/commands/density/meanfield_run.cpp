#include "attractor/commands/density/meanfield_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "attractor/base/numbers.hpp"
#include "attractor/commands/density/meanfield_errors.hpp"
#include "attractor/flow/run.hpp"
#include "attractor/stability/stability.hpp"

namespace attractor::lab {
namespace {

constexpr std::uint64_t kMostSteps = 200'000;
constexpr std::uint64_t kTwinSteps = 16 * kMostSteps;  // modes doubled: four times as stiff
// Once the first transient is over steps hardly grow again: if they are this far too short, the end
// is out of reach, and waiting would not help.
constexpr std::uint64_t kTransient = 400;
constexpr double kHopeless = 30 * static_cast<double>(kMostSteps);
// Outputs of a run that fails later are kept while missing modes are this small beside the error
// that would be felt: those of its twin are not asked for.
constexpr double kTrusted = 1e-4;

/// Linear theory of the perturbed mode, and the time over which growth is measured: one e-folding,
/// or the whole run if that is shorter.
struct LinearPhase {
  double growth = kNan;
  flow::Time end{-1};
  bool known() const { return end.mantissa() > 0; }
};

LinearPhase linear_phase(const MeanfieldSetup& p) {
  if (p.start != StartLaw::perturbed || p.amplitude == 0 || p.time == 0) return {};
  const meanfield::Stability s = meanfield::stability(
      {.rule = p.dynamics, .dim = p.dim, .beta = p.beta, .noise = p.noise}, p.mode);
  const flow::Time whole(p.time), one(1 / std::abs(s.rate[p.mode]), -s.log_unit);
  return {s.growth(p.mode), one < whole ? one : whole};
}

flow::Plan plan_of(const MeanfieldSetup& p, bool twin) {
  flow::Plan plan{.end = flow::Time(p.time),
                  .tolerance = twin ? kTwinTolerance * p.tolerance : p.tolerance,
                  .max_steps = twin ? kTwinSteps : kMostSteps};
  for (std::uint64_t k = 0; k <= p.outputs; ++k)
    plan.outputs.emplace_back(p.time * static_cast<double>(k) / static_cast<double>(p.outputs));
  return plan;
}

/// Where steps are so long that no error is felt at all, those of a run and its twin would be the
/// same, and so would be their errors: a twin ends a step at each output and half-way to it.
std::vector<flow::Time> legs(const flow::Plan& plan) {
  std::vector<flow::Time> ends;
  const double unit = plan.end.exponent();
  flow::Time last;
  for (const flow::Time& output : plan.outputs) {
    if (!(last < output)) continue;
    const double from = last.in_unit(unit), to = output.in_unit(unit);
    ends.emplace_back(0.5 * (from + to), unit);
    ends.push_back(output);
    last = output;
  }
  if (ends.empty()) ends.push_back(plan.end);
  return ends;
}

class Recorder {
 public:
  Recorder(const MeanfieldSetup& p, bool twin, MeanfieldSystem& system, const Context& context)
      : p_(p), twin_(twin), system_(system), context_(context), phase_(linear_phase(p)) {}

  MeanfieldRecord run() {
    flow::Plan plan = plan_of(p_, twin_);
    if (phase_.known()) {
      const auto at = std::upper_bound(plan.outputs.begin(), plan.outputs.end(), phase_.end);
      growth_output_ = static_cast<std::size_t>(at - plan.outputs.begin());
      plan.outputs.insert(at, phase_.end);
    }
    record_.angles = system_.angles;
    record_.growth_measured = kNan;
    record_.growth_linear = phase_.growth;
    record_.start_lost = system_.start_lost;
    record_.first_modes = record_.modes = system_.modes();
    record_.resolved = system_.start_lost <= most_error(p_);
    if (record_.resolved) go(plan);
    return std::move(record_);
  }

 private:
  void go(flow::Plan plan) {
    flow::Progress progress{.state = system_.start};
    for (const flow::Time& end : twin_ ? legs(plan) : std::vector{plan.end}) {
      plan.end = end;
      record_.status = flow::run(*system_.flow, flow::dormand_prince(), plan, progress, hooks());
      if (!flow::delivered(record_.status)) break;
    }
    // The end of the last step may be a rounding before the last output.
    for (; flow::delivered(record_.status) && progress.next_output < plan.outputs.size();
         ++progress.next_output)
      output(plan.outputs[progress.next_output], progress.state);
    record_.reached = progress.time.value();
    record_.reached_natural = progress.time.in_unit(system_.flow->log_unit());
    record_.modes = system_.modes();
    record_.moments = system_.moments(progress.state);
    if (system_.truncation) {
      record_.doublings = system_.truncation->doublings();
      record_.modes_lost = system_.truncation->largest_missing();
      record_.resolved = !system_.truncation->unresolved();
    }
    if (!record_.complete()) keep(trusted_);
    if (!system_.weights.empty()) record_.labels = {progress.state, system_.weights};
  }

  /// Of a run without a twin. What modes tell of a density with an axis is not known then.
  void keep(std::size_t outputs) {
    record_.history.resize(std::min(outputs, record_.history.size()));
    record_.density.resize(std::min(outputs, record_.density.size()));
    if (system_.truncation && std::isnan(system_.measure(system_.start).largest))
      record_.density.clear();
  }

  bool unresolved() const { return system_.truncation && system_.truncation->unresolved(); }

  flow::Hooks hooks() {
    return {
        .output = [this](const flow::Time& t, std::span<const double> s) { output(t, s); },
        .step =
            [this](const flow::Step& step) {
              if (++steps_ > kTransient) look_ahead(step);
            },
        .stop = [this] { return unresolved() || record_.steps_missing > 0 || context_.stopped(); }};
  }

  void look_ahead(const flow::Step& step) {
    const double left =
        flow::Time(p_.time).in_unit(step.log_unit) - step.start.in_unit(step.log_unit);
    const double usual = std::max(step.h, last_step_);  // the last one of a leg may be tiny
    if (left > kHopeless * usual) record_.steps_missing = left / usual;
    last_step_ = step.h;
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
    if (!system_.truncation || system_.truncation->largest_missing() <= kTrusted * most_error(p_))
      trusted_ = record_.history.size();
  }

  const MeanfieldSetup& p_;
  bool twin_;
  MeanfieldSystem& system_;
  const Context& context_;
  LinearPhase phase_;
  MeanfieldRecord record_;
  std::uint64_t steps_ = 0;
  double last_step_ = 0;
  std::size_t trusted_ = 0;  // outputs
  std::size_t seen_ = 0, growth_output_ = std::numeric_limits<std::size_t>::max();
};

MeanfieldRecord run_once(const MeanfieldSetup& p, const MeanfieldKind& kind,
                         const MeanfieldSize& size, bool twin, const Context& context) {
  MeanfieldSystem system = meanfield_system(p, kind, size, context.stop);
  return Recorder(p, twin, system, context).run();
}

/// Labels need not be doubled: their number is no power of the other, so that no two grids agree by
/// chance, and a grid on S^2 with twice the heights would take sixteen times as long.
MeanfieldSize twin_size(const MeanfieldSetup& p, const MeanfieldKind& kind,
                        const MeanfieldRecord& record) {
  if (kind.spectral)
    return {.count = 2 * record.first_modes, .twin = true, .doublings = record.doublings};
  const std::size_t labels = p.modes > 0 ? p.modes : usual_size(kind);
  const std::size_t more = kind.geometry == Geometry::general ? labels / 4 : labels / 2;
  return {.count = labels + more + 1};
}

}  // namespace

MeanfieldRecord run_meanfield(const MeanfieldSetup& p, const MeanfieldKind& kind, Pieces& pieces,
                              const Context& context) {
  MeanfieldRecord record =
      pieces.get("run", [&] { return run_once(p, kind, {.count = p.modes}, false, context); });
  if (!record.complete()) return record;
  const MeanfieldRecord twin = pieces.get(
      "twin", [&] { return run_once(p, kind, twin_size(p, kind, record), true, context); });
  record.twin_failed = !twin.complete();
  judge(p, kind, twin, record);
  return record;
}

EndLabels labels_at_end(const MeanfieldSetup& p, const MeanfieldKind& kind,
                        const MeanfieldRecord& record, Pieces& pieces, const Context& context) {
  if (!kind.spectral) return {record.labels, true, record.errors.order};
  MeanfieldSetup quick = p;
  quick.outputs = 1;
  const std::size_t count = kind.geometry == Geometry::circle ? 4096 : 1024;
  const MeanfieldRecord labels = pieces.get("labels", [&] {
    return run_once(quick, {kind.geometry, false}, {.count = count}, false, context);
  });
  if (!labels.complete()) return {.complete = false};
  return {
      labels.labels, true,
      std::abs(labels.history.back().order - record.history.back().order) + record.errors.order};
}

}  // namespace attractor::lab
