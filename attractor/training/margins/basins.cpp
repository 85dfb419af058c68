#include "attractor/training/margins/basins.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <numbers>
#include <optional>
#include <utility>

#include "attractor/base/error.hpp"
#include "attractor/base/random.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/flow/run.hpp"
#include "attractor/training/descent_flow.hpp"

namespace attractor::training {
namespace {

constexpr double kSettled = 1e-6;  // 1 - cosine of velocity and limit

// The coordinates of p along which keys differ.
std::vector<std::size_t> effective_axes(const Objective& objective) {
  std::vector<std::size_t> axes;
  if (objective.trained().attention != AttentionPart::prompt) return axes;
  const Problem& p = objective.problem();
  const std::vector<double> k = p.weights.empty() ? p.x : keys(p);
  for (std::size_t a = 0; a < p.dim; ++a) {
    bool differs = false;
    for (std::size_t row = 0; row < p.inputs * p.tokens && !differs; ++row)
      differs = k[row * p.dim + a] != k[row / p.tokens * p.tokens * p.dim + a];
    if (differs) axes.push_back(a);
  }
  return axes;
}

std::vector<BasinStart> grid(const Objective& objective, const std::vector<std::size_t>& axes,
                             std::size_t side, double radius) {
  std::vector<BasinStart> starts(side * side);
  for (std::size_t k = 0; k < starts.size(); ++k) {
    starts[k].start = objective.start();
    const auto place = [&](std::size_t index) {
      return radius * (2 * (static_cast<double>(index) + 0.5) / static_cast<double>(side) - 1);
    };
    starts[k].start[axes[0]] += place(k % side);
    starts[k].start[axes[1]] += place(k / side);
  }
  return starts;
}

std::vector<BasinStart> sample(const Objective& objective, const BasinOptions& options) {
  std::vector<BasinStart> starts(options.samples);
  const Stream stream(options.seed, "starts of basins");
  for (std::size_t k = 0; k < starts.size(); ++k) {
    std::vector<double>& w = starts[k].start;
    w.resize(objective.dim());
    stream.normals(k, w);
    const double length = norm(w);
    for (double& x : w) x *= options.radius / length;
  }
  return starts;
}

// Max-margin solutions by choice, solved once.
class Limits {
 public:
  explicit Limits(const AttSvm& svm) : svm_(svm) {}
  const MaxMargin& of(const std::vector<std::size_t>& chosen) {
    const std::lock_guard lock(mutex_);
    const auto at = known_.find(chosen);
    if (at != known_.end()) return at->second;
    return known_.emplace(chosen, svm_.solve(chosen)).first->second;
  }

 private:
  const AttSvm& svm_;
  std::mutex mutex_;
  std::map<std::vector<std::size_t>, MaxMargin> known_;
};

// The gradient flow from one start until its velocity points at a solution.
BasinEnd follow(const Objective& objective, const BasinOptions& options, Limits& limits,
                BasinStart& run) {
  DescentFlow flow(objective, {.flows = true, .rest_distance = 10 * options.tolerance});
  flow::Progress progress{.state = run.start};
  BasinEnd end;
  std::uint64_t next_look = 0;
  flow::Hooks hooks;
  hooks.stop = [&] { return end.settled || (options.stop && options.stop()); };
  hooks.safe_point = [&](const flow::Progress& at) {
    if (at.steps < next_look) return;
    next_look = at.steps + 10;
    Evaluation e;
    objective.evaluate(at.state, e);
    end.chosen = e.chosen;
    const MaxMargin& limit = limits.of(e.chosen);
    if (!limit.locally_optimal) return;
    const double sizes = norm(e.descent) * norm(limit.solution);
    run.velocity_cosine = sizes > 0 ? dot(e.descent, limit.solution) / sizes : 0;
    end.settled = run.velocity_cosine > 1 - kSettled;
  };
  flow::run(flow, flow::dormand_prince(),
            {.end = flow::Time(1, options.log10_time * std::numbers::ln10),
             .tolerance = options.tolerance,
             .max_steps = 100'000},
            progress, hooks);
  run.at_minimum = !end.settled && flow.at_minimum(progress.state);
  run.end = progress.state;
  run.log10_time = progress.time.log() / std::numbers::ln10;
  return end;
}

}  // namespace

Basins find_basins(const Objective& objective, const AttSvm& svm, const BasinOptions& options) {
  return find_basins(objective, svm, options, {}, {});
}

Basins find_basins(const Objective& objective, const AttSvm& svm, const BasinOptions& options,
                   BasinProgress from,
                   const std::function<void(const BasinProgress&)>& safe_point) {
  const AttentionPart part = objective.trained().attention;
  if (objective.trained().head || (part != AttentionPart::prompt && part != AttentionPart::weights))
    throw Error("basins are for p or W, with v frozen");
  Basins basins{.radius = options.radius};
  basins.axes = effective_axes(objective);
  if (basins.axes.size() == 2) {
    basins.side = options.side;
    basins.starts = grid(objective, basins.axes, options.side, options.radius);
  } else {
    basins.axes.clear();
    basins.starts = sample(objective, options);
  }
  Limits limits(svm);
  if (from.done == 0) from.starts = basins.starts;
  from.ends.resize(from.starts.size());
  const std::size_t count = from.starts.size();
  while (from.done < count && !(options.stop && options.stop())) {
    if (options.report) options.report(static_cast<double>(from.done) / static_cast<double>(count));
    const std::size_t done = from.done, batch = std::min<std::size_t>(count - done, 64);
    parallel_for(batch, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t k = done + begin; k < done + end; ++k)
        from.ends[k] = follow(objective, options, limits, from.starts[k]);
    });
    if (options.stop && options.stop()) break;  // some of them may have been
    from.done += batch;
    if (safe_point) safe_point(from);
  }
  const std::vector<BasinEnd>& ends = from.ends;
  basins.starts = std::move(from.starts);
  std::map<std::vector<std::size_t>, std::size_t> index;
  for (std::size_t k = 0; k < ends.size(); ++k) {
    if (!ends[k].settled) continue;
    const auto [at, is_new] = index.emplace(ends[k].chosen, basins.limits.size());
    if (is_new) basins.limits.push_back(limits.of(ends[k].chosen));
    basins.starts[k].limit = at->second;
  }
  return basins;
}

}  // namespace attractor::training
