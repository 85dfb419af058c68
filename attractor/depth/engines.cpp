#include "attractor/depth/engines.hpp"

#include <algorithm>
#include <array>

#include "attractor/base/numbers.hpp"
#include "attractor/depth/moments_flow.hpp"

namespace attractor::depth {

std::span<const std::string_view> names(Engine) {
  static constexpr std::string_view kNames[] = {"dense", "circle", "sphere", "moments", "clumps"};
  return kNames;
}

Engine linear_engine(std::size_t dim) {
  return dim == 2 ? Engine::circle : dim == 3 ? Engine::sphere : Engine::moments;
}

bool can(Engine engine, const EngineTask& task) {
  const bool coalesces = engine == Engine::dense || engine == Engine::clumps;
  if (!task.ends && !coalesces) return false;
  switch (engine) {
    case Engine::circle:
      return task.dim == 2 && task.beta <= kMostFieldBeta;
    case Engine::sphere:
      return task.dim == 3 && task.beta <= kMostFieldBeta && task.accuracy >= kFinestSphere;
    case Engine::moments:
      return moments_over_dense(task) < 1;
    case Engine::clumps:
      return task.exact;
    case Engine::dense:
      break;
  }
  return true;
}

double moments_over_dense(const EngineTask& task) {
  // Nanoseconds of one pair by dense rows, on one core, d = 3 .. 8.
  constexpr double kPairs[] = {0.4, 0.53, 0.7, 0.69, 0.7, 0.7};
  if (task.dim < 3 || task.dim > 8 || task.accuracy < kFinestSphere) return kInfinity;
  const kernels::PowerMomentsCost cost = moments_cost(
      {.rule = task.rule, .beta = task.beta, .accuracy = task.accuracy, .dim = task.dim},
      task.tokens);
  if (!cost.possible) return kInfinity;
  const auto n = static_cast<double>(task.tokens);
  return (cost.token_ns + cost.fixed_ns / n) / (kPairs[task.dim - 3] * n);
}

Engine fastest(const EngineTask& task) {
  const Engine linear = linear_engine(task.dim);
  const bool worth = linear == Engine::moments ? moments_over_dense(task) < 0.5 : can(linear, task);
  return worth ? linear : Engine::dense;
}

std::optional<Engine> choose(const EngineTask& task, std::optional<Engine> asked) {
  if (!task.plain) return {};
  if (!task.fields) return Engine::dense;
  EngineTask large = task;
  large.tokens = std::max(task.tokens, kManyTokens);
  if (asked) return can(*asked, large) ? *asked : Engine::dense;
  if (task.tokens < kManyTokens || !task.worthy || !task.ends) return Engine::dense;
  return fastest(large);
}

}  // namespace attractor::depth
