#include "attractor/lab/flow/simulation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "attractor/base/checksum.hpp"
#include "attractor/base/error.hpp"
#include "attractor/lab/byte_store.hpp"
#include "attractor/lab/checkpoint_bytes.hpp"
#include "attractor/lab/words.hpp"
#include "attractor/tokens/components.hpp"

namespace attractor::lab {
namespace {

constexpr double kManySteps = 1e6;
constexpr std::uint64_t kAnySteps = std::numeric_limits<std::uint64_t>::max();

/// Combinations are checked, and engines chosen, as for a flow of some length.
FlowSetup without_end(FlowSetup p) {
  const FlowSetup usual;
  p.time = usual.time;
  p.log10_time.reset();
  p.verify = false;
  if (!is_adaptive(p)) p.time = kManySteps * p.step;
  p.max_steps = usual.max_steps;
  check(p);
  require_memory(p, false);
  if (p.redraw > 0) p.time = kInfinity;  // weights are redrawn for ever
  return p;
}

}  // namespace

Simulation::Simulation(const FlowSetup& setup)
    : setup_(without_end(setup)),
      start_(make_tokens(start_of(setup_))),
      count_(start_.count()),
      dim_(start_.dim),
      model_(setup_, count_, dim_, merge_radius_of(setup_)) {
  Checksum sum;
  sum.add_all(std::span<const double>(start_.data));
  model_.first_weights().add_to(sum);
  identity_ = fmt::format("{} (data {:016x})", command(setup_), sum.value());
  progress_.state = model_.flow().begin(std::move(start_.data));
  model_.enter(progress_.time, progress_.state);
}

// The flow is one from change to change: each part is a run of its own.
flow::Status Simulation::advance(const flow::Time& end, std::uint64_t steps,
                                 const std::function<bool()>& stop) {
  const std::uint64_t last =
      steps > kAnySteps - progress_.steps ? kAnySteps : progress_.steps + steps;
  const flow::Tableau method = flow::tableau(stepper_of(setup_));
  flow::Plan part{.tolerance = setup_.tolerance,
                  .step = setup_.step,
                  .max_steps = kAnySteps,
                  .noise = {.seed = setup_.seed, .substeps = setup_.noise_substeps}};
  const auto watch = [&](const flow::Step& step) {
    if (model_.members_visible())
      tree_->watch(step, [&](double theta) { return model_.tokens_at(step, theta); });
    else
      tree_->watch(step, model_.groups().owner());
  };
  flow::Hooks hooks{.stop = [&] { return progress_.steps >= last || (stop && stop()); }};
  if (tree_) hooks.step = watch;
  for (;;) {
    part.end = model_.next_change(progress_.time, end);
    const flow::Status status = flow::run(model_.flow(), method, part, progress_, hooks);
    if (status == flow::Status::interrupted && progress_.steps >= last)
      return flow::Status::complete;
    if (status != flow::Status::complete || !(progress_.time < end)) return status;
    model_.enter(progress_.time, progress_.state);
  }
}

flow::Status Simulation::step(std::uint64_t count, const std::function<bool()>& stop) {
  return count == 0 ? flow::Status::complete : advance(flow::kForever, count, stop);
}

flow::Status Simulation::run_until(double time, const std::function<bool()>& stop) {
  if (!(time >= 0))
    throw Error(fmt::format("time = {} is not allowed; allowed: at least {}", time,
                            progress_.time.value()));
  const flow::Time end(time);
  if (end < progress_.time)
    throw Error(fmt::format("time = {} has passed: the simulation is at t = {}", time,
                            plain_words(progress_.time)));
  if (!is_adaptive(setup_) && std::isfinite(time) && time > 0 &&
      !flow::fixed_steps(end, setup_.step).whole)
    throw Error(fmt::format("time = {} is not a whole number of steps of {}", time, setup_.step));
  if (end == progress_.time) return flow::Status::complete;
  return advance(end, kAnySteps, stop);
}

std::vector<double> Simulation::tokens() const {
  std::vector<double> storage;
  const std::span<const double> state = progress_.state;
  const bool lengths = model_.whole().has_lengths();
  return model_.groups().expand(lengths ? state : model_.whole().directions(state, storage));
}

double Simulation::cluster_radius() const { return std::sqrt(2 * (1 - cluster_cosine_of(setup_))); }

void Simulation::watch_merges() {
  if (!model_.flow().state_is_tokens()) return;
  tree_.emplace(count_, dim_, cluster_radius());
  tree_->start(progress_.time, progress_.state, model_.groups().owner());
}

std::vector<observe::Linkage> Simulation::merges() const {
  return tree_ ? tree_->linkage() : std::vector<observe::Linkage>{};
}

observe::Observation Simulation::observe(bool thorough) const {
  std::vector<double> storage;
  const std::span<const double> shape = model_.whole().directions(progress_.state, storage);
  return model_.observe(progress_.time, progress_.state, shape, model_.options(), thorough);
}

std::vector<std::uint32_t> Simulation::clusters() const {
  std::vector<double> storage;
  const std::span<const double> shape = model_.whole().directions(progress_.state, storage);
  if (model_.members_visible())
    return components(model_.groups().expand(shape), dim_, cluster_radius()).label;
  const Components found = components(shape, dim_, cluster_radius());
  std::vector<std::uint32_t> label(count_);
  for (std::size_t i = 0; i < count_; ++i) label[i] = found.label[owner()[i]];
  return label;
}

RunShape Simulation::shape() const {
  return {.tokens = count_,
          .dim = dim_,
          .width = model_.flow().space().dim(),
          .on_sphere = setup_.space == depth::Geometry::sphere,
          .lengths = model_.whole().has_lengths(),
          .ordered = !model_.flow().kept_order().empty()};
}

std::string Simulation::bytes() const {
  const depth::TokenGroups& groups = model_.groups();
  ByteStore store("the simulation");
  save({identity_,
        progress_,
        groups.owner(),
        {},
        model_.flow().kept_order(),
        model_.flow().status(),
        model_.clump_history(),
        groups.coalescences(),
        groups.book(),
        {},
        {},
        {}},
       store);
  return store.bytes();
}

void Simulation::restore(std::string_view bytes) {
  const ByteStore store("the simulation", std::string(bytes));
  Checkpoint saved = parse_checkpoint(bytes, store.name());
  if (saved.command != identity_)
    throw Error(fmt::format("the simulation was another one: {}", saved.command));
  validate_state(saved, shape(), store.name());
  progress_ = std::move(saved.progress);
  model_.groups().restore(std::move(saved.owner), std::move(saved.coalescences), saved.book, dim_);
  model_.flow().restore_order(std::move(saved.order));
  model_.flow().set_status(saved.layer_status);
  model_.set_clump_history(saved.clumps);
  model_.enter(progress_.time, progress_.state);
}

}  // namespace attractor::lab
