#include "attractor/lab/select/select_training.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>
#include <utility>

#include "attractor/base/checksum.hpp"
#include "attractor/base/error.hpp"
#include "attractor/lab/checkpoint_bytes.hpp"

namespace attractor::lab {
namespace {

using training::Objective;
using training::Problem;

constexpr std::uint64_t kFlowSteps = 3'000'000;
constexpr std::size_t kImplicit = 128;         // weights: more cost more than the steps they save
constexpr std::size_t kRecorded = 20'000'000;  // numbers of a trajectory kept at most
constexpr std::string_view kMagic = "ATTRACTOR-SELECT-CHECKPOINT-2\n";

// Evenly in log time; steps are whole.
std::vector<flow::Time> output_times(const SelectSetup& p, std::size_t count) {
  std::vector<flow::Time> times{flow::Time(0)};
  if (p.optimizer == Optimizer::flow) {
    const double from = std::min(-2.0, p.log10_time - 2);
    for (std::size_t k = 0; k + 1 < count; ++k)
      times.emplace_back(1, (from + (p.log10_time - from) * static_cast<double>(k + 1) /
                                        static_cast<double>(count - 1)) *
                                std::numbers::ln10);
    return times;
  }
  std::set<std::uint64_t> steps{p.steps};
  for (std::size_t k = 0; k + 1 < count; ++k)
    steps.insert(static_cast<std::uint64_t>(std::llround(std::pow(
        static_cast<double>(p.steps), static_cast<double>(k) / static_cast<double>(count - 1)))));
  for (std::uint64_t step : steps) times.emplace_back(p.step * static_cast<double>(step));
  return times;
}

flow::Plan plan_of(const SelectSetup& p, std::size_t dim) {
  const std::size_t count = std::clamp<std::size_t>(kRecorded / dim, 2, p.outputs);
  flow::Plan plan{.outputs = output_times(p, count), .tolerance = p.tolerance, .step = p.step};
  if (p.optimizer == Optimizer::flow) {
    plan.end = flow::Time(1, p.log10_time * std::numbers::ln10);
    plan.max_steps = kFlowSteps;
    if (p.mirror == 2 && dim <= kImplicit) plan.stiff = flow::rodas();
  } else {
    plan.end = flow::Time(p.step * static_cast<double>(p.steps));
    plan.max_steps = p.steps + 1;
  }
  return plan;
}

}  // namespace

std::string digest(const Problem& problem) {
  Checksum sum;
  const std::uint64_t sizes[] = {problem.inputs, problem.tokens, problem.dim};
  sum.add_all(std::span<const std::uint64_t>(sizes));
  for (const std::vector<double>* values :
       {&problem.x, &problem.labels, &problem.head.v, &problem.head.hidden, &problem.head.bias,
        &problem.weights, &problem.queries, &problem.prompt, &problem.key_factor,
        &problem.query_factor})
    sum.add_all(std::span<const double>(*values));
  sum.add_all(std::span<const double>(&problem.head.penalty, 1));
  sum.add(name(problem.head.activation));
  return fmt::format(" (data {:016x})", sum.value());
}

Training::Training(const SelectSetup& p, const Objective& objective, const Context& context,
                   std::span<const double> start)
    : p_(p),
      objective_(objective),
      context_(context),
      command_(command(p) + digest(objective.problem())),
      adaptive_(p.optimizer == Optimizer::flow),
      plan_(plan_of(p, objective.dim())),
      flow_(objective, descent_options(p)) {
  progress_.state = flow_.state(start);
  load();
}

void Training::run() {
  flow::Hooks hooks;
  hooks.stop = context_.stop;
  hooks.output = [&](const flow::Time& time, std::span<const double> state) {
    moments_.push_back({time, flow_.weights(state)});
  };
  hooks.step = [&](const flow::Step& step) {  // Euler looked at the state before, the flow after
    lock_in_.see(flow_.latest().chosen, adaptive_ ? step.at(1) : step.start);
  };
  hooks.safe_point = [&](const flow::Progress&) { pause(); };
  if (!progress_.started) see_state();
  status_ =
      flow::run(flow_, adaptive_ ? flow::dormand_prince() : flow::euler(), plan_, progress_, hooks);
  if (status_ == flow::Status::interrupted) {
    if (context_.checkpoints) save(*context_.checkpoints);
    return;
  }
  // A flow that comes to rest early ends between the moments asked for.
  if (moments_.empty() || !(moments_.back().time == progress_.time))
    moments_.push_back({progress_.time, weights()});
  see_state();
}

std::vector<double> Training::move() const {
  std::vector<double> drift(progress_.state.size());
  flow_.drift(progress_.state, 0, drift);
  drift.resize(objective_.dim());
  return drift;
}

void Training::see_state() {
  objective_.evaluate(weights(), evaluation_);
  lock_in_.see(evaluation_.chosen, progress_.time);
}

void Training::pause() {
  if (++pauses_ % 64 != 0 && pauses_ > 64) return;  // a step may take less than a microsecond
  if (context_.report)
    context_.report(adaptive_
                        ? std::max(0.0, progress_.time.log() / plan_.end.log())
                        : static_cast<double>(progress_.steps) / static_cast<double>(p_.steps),
                    fmt::format("{} steps", progress_.steps));
  if (!context_.checkpoints) return;
  const Clock::time_point now = Clock::now();
  if (now < next_save_) return;
  if (progress_.steps > 0) save(*context_.checkpoints);
  next_save_ =
      Clock::now() + std::max(std::chrono::duration_cast<Clock::duration>(
                                  std::chrono::duration<double>(context_.checkpoint_seconds)),
                              20 * (Clock::now() - now));
}

void Training::save(CheckpointStore& to) const {
  CheckpointWriter out(to, kMagic);
  out.put(command_);
  out.put(progress_);
  const training::DescentFlow::Rest rest = flow_.rest();
  out.put_all(std::span<const double>(rest.seen));
  out.put(rest.steps_since);
  out.put_all(std::span<const signed char>(rest.sides));
  out.put_all(std::span<const std::uint64_t>(lock_in_.chosen));
  for (const flow::Time& time : lock_in_.since) out.put(time);
  out.put(static_cast<std::uint64_t>(moments_.size()));
  for (const Moment& moment : moments_) {
    out.put(moment.time);
    out.put_all(std::span<const double>(moment.weights));
  }
  out.commit();
}

void Training::load() {
  const std::optional<std::string> bytes =
      context_.checkpoints ? context_.checkpoints->read() : std::nullopt;
  if (!bytes) return;
  CheckpointReader in(*bytes, context_.checkpoints->name(), kMagic);
  if (const std::string of = in.get_text(); of != command_)
    throw Error(fmt::format("{} belongs to another run or to other data: {}; start again elsewhere",
                            context_.checkpoints->name(), of));
  const std::size_t numbers = progress_.state.size();
  progress_ = in.get_progress();
  const training::DescentFlow::Rest rest{in.get_all<double>(), in.get<std::uint64_t>(),
                                         in.get_all<signed char>()};
  const bool fits = flow_.set_rest(rest);
  lock_in_.chosen = in.get_all<std::uint64_t>();
  for (std::size_t i = 0; i < lock_in_.chosen.size(); ++i) lock_in_.since.push_back(in.get_time());
  for (std::uint64_t k = in.get_count(24); k-- > 0;) {
    const flow::Time time = in.get_time();
    moments_.push_back({time, in.get_all<double>()});
  }
  in.finish();
  if (!fits) refuse_content(context_.checkpoints->name(), "rested in a piece that does not exist");
  check_content(numbers);
}

// The checksum is right; is it a run of this problem?
void Training::check_content(std::size_t numbers) const {
  const std::string name = context_.checkpoints->name();
  const auto require = [&](bool good, const char* what) {
    if (!good) refuse_content(name, what);
  };
  const auto finite = [](std::span<const double> values) {
    return std::all_of(values.begin(), values.end(), [](double x) { return std::isfinite(x); });
  };
  validate(progress_, numbers, name);
  require(progress_.next_output <= plan_.outputs.size(), "is ahead of its outputs");
  const std::vector<double>& seen = flow_.rest().seen;
  require((seen.empty() || seen.size() == numbers) && finite(seen), "rested at no state");
  require(lock_in_.chosen.size() == objective_.problem().inputs, "chooses for other inputs");
  for (const std::uint64_t token : lock_in_.chosen)
    require(token < objective_.problem().tokens, "chooses a token that does not exist");
  for (const flow::Time& time : lock_in_.since)
    require(is_time(time) && in_order(time.log(), progress_.time.log()),
            "chose at a time that does not exist");
  const std::size_t weights = flow_.weights(progress_.state).size();
  for (std::size_t k = 0; k < moments_.size(); ++k) {
    const Moment& m = moments_[k];
    require(is_time(m.time) && (k == 0 || in_order(moments_[k - 1].time.log(), m.time.log())) &&
                in_order(m.time.log(), progress_.time.log()),
            "has moments out of order");
    require(m.weights.size() == weights && finite(m.weights), "has weights that do not exist");
  }
}

}  // namespace attractor::lab
