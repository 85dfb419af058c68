#include "attractor/lab/flow/flow_experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numbers>
#include <string>

#include "attractor/base/error.hpp"
#include "attractor/flow/growth.hpp"
#include "attractor/flow/run.hpp"
#include "attractor/lab/flow/checkpoint.hpp"
#include "attractor/lab/flow/flow_distributed.hpp"
#include "attractor/lab/flow/observed_flow.hpp"
#include "attractor/lab/flow/observing_budget.hpp"
#include "attractor/lab/flow/output_times.hpp"
#include "attractor/lab/flow/snapshot_choice.hpp"
#include "attractor/lab/words.hpp"
#include "attractor/observe/pairs.hpp"
#include "attractor/ranks/ranks.hpp"
#include "attractor/tokens/components.hpp"

namespace attractor::lab {
namespace {

constexpr std::uint64_t kQuickRows = 512;  // of tokens, for statistics that are exact

void check_step(const FlowSetup& p, double log_unit) {
  if (!is_adaptive(p) && !std::isfinite(flow::Time(p.step).in_unit(log_unit)))
    throw Error(fmt::format("step = {} times e^beta overflows at beta = {}; use stepper adaptive",
                            p.step, p.beta));
}

flow::Plan plan_of(const FlowSetup& p, double log_unit) {
  flow::Plan plan{.end = end_of(p),
                  .outputs = {},
                  .output_every_step = false,
                  .tolerance = p.tolerance,
                  .step = p.step,
                  .max_steps = p.max_steps,
                  .noise = {.seed = p.seed, .substeps = p.noise_substeps}};
  const flow::Time end = plan.end;
  const bool endless = std::isinf(end.mantissa());
  const bool is_long = end.in_unit(log_unit) > 100;
  const Spacing spacing = p.output_spacing.value_or(endless   ? Spacing::steps
                                                    : is_long ? Spacing::log
                                                              : Spacing::linear);
  if (const flow::FixedSteps layers = flow::fixed_steps(end, p.step);
      stepper_of(p) == flow::Method::layers && !layers.whole)
    plan.end = flow::Time(static_cast<double>(layers.count) * p.step);
  if (spacing == Spacing::steps) {
    plan.output_every_step = true;
  } else if (end.mantissa() == 0) {
    plan.outputs = {flow::Time(0)};
  } else {
    plan.outputs = spacing == Spacing::log ? log_times(end, outputs_of(p), log_unit)
                                           : linear_times(end, outputs_of(p));
    if (stepper_of(p) == flow::Method::layers) plan.outputs = at_layers(plan.outputs, p.step);
  }
  return plan;
}

std::string in_words(const flow::Progress& p, std::size_t distinct) {
  return fmt::format("t = {}, {} distinct tokens, {} steps", plain_words(p.time), distinct,
                     p.steps);
}

TokenSet checked_tokens(const FlowSetup& p, bool distributed) {
  check(p);
  TokenSet tokens = make_tokens(start_of(p));
  if (distributed)
    check_distributed(p, tokens.count(), tokens.dim, merge_radius_of(p), ranks::count());
  return tokens;
}

}  // namespace

class FlowRun::Experiment {
 public:
  Experiment(const FlowSetup& p, bool distributed)
      : p_(p),
        start_(checked_tokens(p, distributed)),
        count_(start_.count()),
        command_(command(p) + (distributed ? fmt::format(" on {} ranks", ranks::count()) : "")),
        record_(first_record(p)),
        model_(p, count_, start_.dim, record_.merge_radius, distributed),
        plan_(plan_of(p, model_.flow().log_unit())),
        choice_(p, plan_.outputs.size(), count_, start_.dim),
        budget_(p, model_.whole().engine()),
        options_(model_.options()),
        tree_(count_, start_.dim, options_.cluster_radius) {
    check_step(p, model_.flow().log_unit());
    command_ += data_digest();
    record_.engine = model_.whole().engine();
  }

  FlowSize size() const { return {count_, start_.dim}; }

  void observe(observe::Observable own) {
    const auto taken = [&](const auto& column) { return column.name == own.name; };
    if (std::any_of(observables_.begin(), observables_.end(), taken) ||
        std::any_of(observe::columns().begin(), observe::columns().end(), taken))
      throw Error(fmt::format("an observable named '{}' exists already", own.name));
    observables_.push_back(std::move(own));
  }

  FlowRecord run(const Context& context) {
    context_ = context;
    keeps_ = model_.flow().largest(context.checkpoints ? 1 : 0) > 0;
    for (const observe::Observable& o : observables_)
      record_.observables.push_back({o.name, o.meaning});
    resume_or_start();
    const flow::Hooks hooks{
        .output = [&](const flow::Time& t, std::span<const double> s) { observe_at(t, s); },
        .step = [&](const flow::Step& step) { watch(step); },
        .safe_point = [&](const flow::Progress& p) { safe_point(p); },
        .stop = context_.stop};
    record_.status = run_through_changes(hooks);
    if (record_.status == flow::Status::interrupted && keeps_) checkpoint();
    return finish();
  }

 private:
  // The flow is one from change to change: each part is a run of its own.
  flow::Status run_through_changes(const flow::Hooks& hooks) {
    const flow::Tableau method = flow::tableau(stepper_of(p_));
    flow::Plan part = plan_;
    for (;;) {
      part.end = model_.next_change(progress_.time, plan_.end);
      const flow::Status status = flow::run(model_.flow(), method, part, progress_, hooks);
      if (status != flow::Status::complete || !(progress_.time < plan_.end)) return status;
      model_.enter(progress_.time, progress_.state);
    }
  }

  // Directions and angles merge too, but the tree follows states that are tokens only.
  void watch(const flow::Step& step) {
    if (!model_.flow().state_is_tokens()) return;
    if (model_.members_visible())
      tree_.watch(step, [&](double theta) { return model_.tokens_at(step, theta); });
    else
      tree_.watch(step, model_.groups().owner());
  }

  FlowRecord first_record(const FlowSetup& p) const {
    FlowRecord record;
    record.setup = p;
    record.tokens = count_;
    record.dim = start_.dim;
    record.merge_radius = merge_radius_of(p);
    record.cluster_cosine = cluster_cosine_of(p);
    record.engine = "dense";
    return record;
  }

  // Tells runs of other tokens or other weights apart: files may have changed under their names.
  std::string data_digest() const {
    Checksum sum;
    sum.add_all(std::span<const double>(start_.data));
    model_.first_weights().add_to(sum);
    return fmt::format(" (data {:016x})", sum.value());
  }

  RunShape shape() const {
    return {.tokens = count_,
            .dim = start_.dim,
            .width = model_.flow().space().dim(),
            .outputs = plan_.outputs.size(),
            .observables = observables_.size(),
            .on_sphere = p_.space == depth::Geometry::sphere,
            .lengths = model_.whole().has_lengths(),
            .watched = model_.flow().state_is_tokens(),
            .ordered = !model_.flow().kept_order().empty()};
  }

  void resume_or_start() {
    std::optional<Checkpoint> saved;
    if (context_.checkpoints) saved = load(*context_.checkpoints, command_, shape());
    if (model_.flow().largest(saved ? 1 : 0) == 0) {
      if (model_.flow().state_is_tokens())
        tree_.start(flow::Time(0), start_.data, model_.groups().owner());
      progress_.state = model_.flow().begin(std::move(start_.data));
      model_.enter(progress_.time, progress_.state);
      return;
    }
    start_.data.clear();
    if (saved) restore(std::move(*saved));
    if (model_.distributed()) progress_ = scattered(std::move(progress_), start_.dim);
    model_.enter(progress_.time, progress_.state);
  }

  void restore(Checkpoint saved) {
    progress_ = std::move(saved.progress);
    model_.groups().restore(std::move(saved.owner), std::move(saved.coalescences), saved.book,
                            start_.dim);
    tree_.restore(std::move(saved.merges), std::move(saved.labels));
    model_.flow().restore_order(std::move(saved.order));
    model_.flow().set_status(saved.layer_status);
    model_.set_clump_history(saved.clumps);
    record_.series = std::move(saved.series);
    record_.snapshots = std::move(saved.snapshots);
  }

  // Rank 0 observes and writes for all.
  bool silent() const { return model_.distributed() && ranks::rank() > 0; }

  // The state of all tokens; on a silent rank there is none.
  std::span<const double> whole(std::span<const double> state) {
    if (!model_.distributed()) return state;
    gathered_ = ranks::gather(state);
    return gathered_;
  }

  void observe_at(const flow::Time& time, std::span<const double> mine) {
    // A step may pass many outputs; one that nobody resumes need not see the rest of them.
    if (!keeps_ && !model_.distributed() && !record_.series.empty() && context_.stopped()) return;
    const std::span<const double> state = whole(mine);
    if (silent()) return;
    const std::size_t now = model_.groups().masses().size();
    const std::size_t before =
        record_.series.empty() ? count_
                               : static_cast<std::size_t>(record_.series.back().distinct_tokens);
    const std::size_t output =
        plan_.output_every_step ? record_.series.size() : progress_.next_output;
    const bool keep = choice_.wants(output, record_.snapshots.size(), before, now);
    if (!keep && !budget_.allows(now, progress_.steps + progress_.rejected, record_.series)) return;
    choice_.thin(record_.series.size(), record_.snapshots);
    std::vector<double> storage;
    const std::span<const double> shape = model_.whole().directions(state, storage);
    observe::Details details;
    record_.series.push_back(measure(time, state, shape, keep, keep ? &details : nullptr));
    if (keep) take_snapshot(time, state, shape, details);
  }

  observe::Observation measure(const flow::Time& time, std::span<const double> state,
                               std::span<const double> shape, bool thorough,
                               observe::Details* details) const {
    observe::Observation o = model_.observe(time, state, shape, options_, thorough, details);
    const observe::TokenView view{shape, start_.dim, model_.groups().masses(), thorough,
                                  [&] { return model_.groups().expand(shape); }};
    for (const observe::Observable& observable : observables_)
      o.more.push_back(observable.value(view));
    return o;
  }

  void take_snapshot(const flow::Time& time, std::span<const double> state,
                     std::span<const double> shape, observe::Details& details) {
    Snapshot snapshot{time, model_.groups().expand(shape), std::vector<std::uint32_t>(count_), {}};
    const bool all = model_.members_visible();  // else a token of the state stands for its members
    if (all) {
      const std::vector<double> ones(count_, 1.0);
      details = {components(snapshot.positions, start_.dim, options_.cluster_radius),
                 observe::pair_statistics(snapshot.positions, start_.dim, ones, p_.pair_threshold,
                                          p_.seed, options_.exact_limit)
                     .histogram};
    }
    for (std::size_t i = 0; i < count_; ++i)
      snapshot.clusters[i] = details.components.label[all ? i : model_.groups().owner()[i]];
    snapshot.cosine_histogram.assign(details.histogram.begin(), details.histogram.end());
    if (model_.whole().has_lengths())
      for (std::size_t i = 0; i < count_; ++i)
        snapshot.norms.push_back(norm(state.subspan(i * start_.dim, start_.dim)));
    record_.snapshots.push_back(std::move(snapshot));
  }

  // Between steps: report, and write a checkpoint when one is due (at most 5 % of the time).
  void safe_point(const flow::Progress& p) {
    context_.tell(fraction(p.time), [&] { return in_words(p, model_.groups().masses().size()); });
    if (!keeps_) return;
    const auto now = std::chrono::steady_clock::now();
    if (model_.flow().largest(now < next_checkpoint_ ? 0 : 1) == 0) return;
    if (p.steps > 0) checkpoint();
    const auto spent = std::chrono::steady_clock::now() - now;
    const auto pause = std::chrono::duration_cast<std::chrono::steady_clock::duration>(
        std::chrono::duration<double>(context_.checkpoint_seconds));
    next_checkpoint_ = now + std::max(pause, 20 * spent);
  }

  // Linear for short runs; long ones spend their steps evenly in log t.
  double fraction(const flow::Time& now) const {
    if (std::isinf(plan_.end.mantissa())) return -1;
    const double unit = model_.flow().log_unit();
    const auto grown = [&](const flow::Time& t) {  // ln(1 + t), t in units
      const double log = t.log() - unit;
      return log > 40 ? log : std::log1p(std::exp(log));
    };
    const double end = plan_.end.in_unit(unit);
    if (end > 100) return grown(now) / grown(plan_.end);
    return end > 0 ? now.in_unit(unit) / end : 1;
  }

  void checkpoint() const {
    const auto write = [&](const flow::Progress& progress) {
      const depth::TokenGroups& groups = model_.groups();
      const depth::TokenGroups::Book book = groups.book();
      save({command_, progress, groups.owner(), tree_.labels(), model_.flow().kept_order(),
            model_.flow().status(), model_.clump_history(), groups.coalescences(), book,
            tree_.merges(), record_.series, record_.snapshots},
           *context_.checkpoints);
    };
    if (!model_.distributed()) return write(progress_);
    const flow::Progress all = gathered(progress_);
    if (!silent()) write(all);
  }

  void judge_equilibrium() {
    if (model_.distributed()) return;
    const flow::Growth growth =
        flow::growth_of_perturbations(model_.flow(), progress_.state, progress_.log_unit);
    record_.grows = growth.grows();
    if (growth.grows())
      record_.log10_growth = std::log10(growth.rate) - progress_.log_unit / std::numbers::ln10;
  }

  // What others gather at, by arXiv 2411.04990.
  void find_leaders() {
    const double radius = std::min(2.0, 4 / std::sqrt(std::max(p_.beta, 1e-300)));
    record_.leaders = observe::leaders(record_.snapshots.front().positions, start_.dim, radius);
  }

  FlowRecord finish() {
    record_.time = record_.solver_time = progress_.time;
    record_.steps = progress_.steps;
    record_.rejected = progress_.rejected;
    record_.outputs = plan_.output_every_step ? progress_.steps + 1 : progress_.next_output;
    record_.loosened = progress_.loosened;
    const bool stopped = record_.status == flow::Status::interrupted;
    if (stopped && model_.distributed()) return std::move(record_);
    const std::span<const double> state = whole(progress_.state);
    if (silent()) return std::move(record_);
    // Who stopped it does not wait for what takes long.
    if (stopped) options_.exact_limit = std::min<std::size_t>(kQuickRows, options_.exact_limit);
    std::vector<double> storage;
    const std::span<const double> shape = model_.whole().directions(state, storage);
    observe::Details details;
    observe::Observation last = measure(progress_.time, state, shape, !stopped, &details);
    if (!record_.series.empty() && record_.series.back().log10_time == last.log10_time)
      record_.series.back() = last;
    else
      record_.series.push_back(last);
    if (!record_.snapshots.empty() && record_.snapshots.back().time == progress_.time)
      record_.snapshots.pop_back();
    take_snapshot(progress_.time, state, shape, details);
    choice_.finish(record_.snapshots);
    if (model_.flow().state_is_tokens()) record_.merges = tree_.linkage();
    // The last two clusters merged when they came within the cluster angle, not when the solver
    // no longer needed to tell them apart.
    if (record_.status == flow::Status::collapsed && !record_.merges.empty())
      record_.time = record_.merges.back().time;
    if (record_.status == flow::Status::at_equilibrium) judge_equilibrium();
    if (p_.mask == MaskKind::causal && p_.space == depth::Geometry::sphere) find_leaders();
    record_.layer_status = model_.flow().status();
    const depth::ClumpHistory clumps = model_.clump_history();
    record_.velocity_error = std::max(model_.whole().drift_error(), clumps.error);
    record_.steps_by_rows = clumps.steps_by_rows;
    record_.head_entropies = model_.whole().head_entropies(progress_.time, state);
    record_.selected = model_.whole().selected(progress_.time, state);
    record_.weights = model_.first_weights();
    if (p_.redraw > 0) record_.last_weights = model_.last_weights(progress_.time);
    record_.coalescences = model_.groups().coalescences();
    record_.merge_error = model_.groups().merge_error();
    // Of what the stepper leaves, a tolerance, and of what the linear equation leaves out.
    if (model_.groups().has_offsets())
      record_.offset_error = model_.groups().offset_error() + p_.tolerance / record_.merge_radius;
    record_.owner.assign(model_.groups().owner().begin(), model_.groups().owner().end());
    return std::move(record_);
  }

  FlowSetup p_;
  Context context_{};
  TokenSet start_;
  std::size_t count_;
  std::string command_;
  FlowRecord record_;
  ObservedFlow model_;
  flow::Plan plan_;
  SnapshotChoice choice_;
  ObservingBudget budget_;
  observe::ObserveOptions options_;
  std::vector<observe::Observable> observables_ = observe::observables();
  observe::MergeTree tree_;
  flow::Progress progress_;
  std::vector<double> gathered_;
  bool keeps_ = false;  // rank 0 has a directory for checkpoints
  std::chrono::steady_clock::time_point next_checkpoint_{};
};

FlowRun::FlowRun(const FlowSetup& setup, bool distributed)
    : experiment_(std::make_unique<Experiment>(setup, distributed)) {}

FlowRun::FlowRun(FlowRun&&) noexcept = default;
FlowRun& FlowRun::operator=(FlowRun&&) noexcept = default;
FlowRun::~FlowRun() = default;

void FlowRun::observe(observe::Observable own) { experiment_->observe(std::move(own)); }
FlowSize FlowRun::size() const { return experiment_->size(); }
FlowRecord FlowRun::run(const Context& context) && { return experiment_->run(context); }

FlowRecord run_flow(const FlowSetup& setup, const Context& context) {
  return FlowRun(setup).run(context);
}

}  // namespace attractor::lab
