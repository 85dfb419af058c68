#include "attractor/depth/velocity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "attractor/base/error.hpp"
#include "attractor/base/scratch.hpp"
#include "attractor/depth/attention_output.hpp"
#include "attractor/depth/chord_flow.hpp"
#include "attractor/depth/clumps/clump_sums.hpp"
#include "attractor/depth/moments_flow.hpp"
#include "attractor/depth/sphere_flow.hpp"

namespace attractor::depth {
namespace {

Engine engine_for(const VelocityTask& task, std::size_t tokens) {
  const Attention& a = task.attention;
  const bool plain = a.by_distance() && a.value.empty();
  const EngineTask what{.rule = a.rule,
                        .beta = a.beta,
                        .accuracy = task.accuracy,
                        .tokens = tokens,
                        .dim = a.dim,
                        .fields = plain,
                        .exact = task.precision == Precision::f64};
  const Engine chosen = choose(what, task.engine).value_or(Engine::dense);
  if (!task.engine || chosen == *task.engine) return chosen;
  if (!plain)
    throw Error(fmt::format("engine {} needs the sphere and identity weights", name(*task.engine)));
  throw Error(
      fmt::format("engine {} cannot do {} tokens at beta = {} in dimension {} with accuracy = {}; "
                  "circle is for d = 2, sphere for d = 3, moments for d = 3 to 8 and moderate "
                  "beta, clumps for double precision, or take dense",
                  name(*task.engine), tokens, a.beta, a.dim, task.accuracy));
}

/// Rows of all pairs, or of clumps where they save time. Returns what was summed.
Engine row_velocity(const VelocityTask& task, Engine engine, std::span<const double> tokens,
                    std::span<const double> masses, std::span<double> out) {
  const Attention& attention = task.attention;
  const std::unique_ptr<Space> space = space_of(attention);
  AttentionSums sums;
  bool summed = false;
  if (engine == Engine::clumps) {
    const ClumpTask clumps{attention.dim, attention.beta, task.accuracy};
    for (std::vector<double>* column : {&sums.weight, &sums.peak, &sums.own})
      column->assign(masses.size(), 0.0);
    sums.offset = attention.beta;
    summed = clump_sums({.task = clumps, .points = tokens, .masses = masses},
                        find_clumps(clumps, tokens), out, sums.weight)
                 .taken;
  }
  if (!summed)
    attend(attention, tokens, masses,
           {.pull_place = out,
            .lift = task.log_unit - natural_log_unit(attention),
            .precision = task.precision},
           sums);
  double total = 0;
  for (const double m : masses) total += m;
  attention_output({attention, *space, tokens, masses, sums, out, total}, task.log_unit, true, out);
  return summed ? Engine::clumps : Engine::dense;
}

template <class Flow>
void field_velocity(const VelocityTask& task, std::span<const double> tokens,
                    std::span<const double> masses, std::span<double> out) {
  const FieldFlowSettings settings{.rule = task.attention.rule,
                                   .beta = task.attention.beta,
                                   .accuracy = task.accuracy,
                                   .dim = task.attention.dim};
  Flow(settings, std::vector<double>(masses.begin(), masses.end()))
      .drift(tokens, task.log_unit, out);
}

}  // namespace

Engine velocity(const VelocityTask& task, std::span<const double> tokens,
                std::span<const double> masses, std::span<double> out) {
  const std::size_t count = tokens.size() / task.attention.dim;
  const Engine engine = engine_for(task, count);
  const Scratch<double> equal(masses.empty() ? count : 0);
  if (masses.empty()) {
    std::fill_n(equal.get(), count, 1.0);
    masses = {equal.get(), count};
  }
  switch (engine) {
    case Engine::dense:
    case Engine::clumps:
      return row_velocity(task, engine, tokens, masses, out);
    case Engine::circle:
      field_velocity<ChordFlow>(task, tokens, masses, out);
      break;
    case Engine::sphere:
      field_velocity<SphereFlow>(task, tokens, masses, out);
      break;
    case Engine::moments:
      field_velocity<MomentsFlow>(task, tokens, masses, out);
      break;
  }
  return engine;
}

}  // namespace attractor::depth
