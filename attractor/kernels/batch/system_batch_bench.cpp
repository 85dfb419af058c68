// Steps of 2048 systems of 32 tokens: layers, ten to a call and one to a call, velocities, and a
// whole phase diagram (starts, 300 layers, 200 outputs; in R^32 for d > 32). bench/batch_peer.py
// makes the same layers with PyTorch and compares `check`.
#include <benchmark/benchmark.h>

#include <cmath>
#include <vector>

#include "attractor/base/threads.hpp"
#include "attractor/depth/batch_flow.hpp"
#include "attractor/kernels/batch/system_batch.hpp"

namespace attractor::kernels {
namespace {

constexpr std::size_t kSystems = 2048, kTokens = 32;

// Unit tokens from a formula that other languages can repeat: directions of sin(k^2 mod 9973).
struct BatchTask {
  std::size_t dim;
  std::vector<double> x, betas, sizes;

  explicit BatchTask(std::size_t d)
      : dim(d), x(kSystems * kTokens * d), betas(kSystems), sizes(kSystems, 0.1) {
    for (std::size_t k = 0; k < kSystems; ++k)
      betas[k] = 9 * static_cast<double>(k + 1) / static_cast<double>(kSystems);
    for (std::size_t i = 0; i < x.size(); i += d) {
      double length = 0;
      for (std::size_t a = i; a < i + d; ++a) {
        x[a] = std::sin(static_cast<double>(a * a % 9973));
        length += x[a] * x[a];
      }
      for (std::size_t a = i; a < i + d; ++a) x[a] /= std::sqrt(length);
    }
  }
  SystemBatch batch() const { return {kTokens, dim, true, betas}; }
};

void report(benchmark::State& state, double systems) {
  state.counters["systems"] =
      benchmark::Counter(systems, benchmark::Counter::kIsIterationInvariantRate);
}

void batch_layers(benchmark::State& state) {
  const auto count = static_cast<std::uint64_t>(state.range(1));
  set_threads(static_cast<std::size_t>(state.range(2)));
  const BatchTask task(static_cast<std::size_t>(state.range(0)));
  const BatchSteps steps{.sizes = task.sizes, .count = count};
  std::vector<double> x;
  for (auto _ : state) {
    state.PauseTiming();
    x = task.x;
    state.ResumeTiming();
    batch_advance(task.batch(), steps, x, {});
  }
  double check = 0;  // mean square of the first coordinate
  for (std::size_t i = 0; i < x.size(); i += task.dim) check += x[i] * x[i];
  state.counters["check"] = check / static_cast<double>(kSystems * kTokens);
  report(state, static_cast<double>(kSystems * count));
}

void batch_velocities(benchmark::State& state) {
  set_threads(static_cast<std::size_t>(state.range(1)));
  const BatchTask task(static_cast<std::size_t>(state.range(0)));
  std::vector<double> velocity(task.x.size());
  for (auto _ : state) batch_velocity(task.batch(), task.x, velocity);
  report(state, static_cast<double>(kSystems));
}

void batch_diagram(benchmark::State& state) {
  set_threads(static_cast<std::size_t>(state.range(1)));
  depth::BatchPlan plan{.replicates = 64,
                        .tokens = kTokens,
                        .dim = static_cast<std::size_t>(state.range(0)),
                        .betas = {0.1, 3, 6, 9},
                        .steps = {0.1}};
  for (int k = 1; k <= 200; ++k) plan.outputs.push_back(30.0 * k / 200);
  for (auto _ : state) benchmark::DoNotOptimize(depth::run_batch(plan));
  report(state, 4 * 64 * 300.0);
}

BENCHMARK(batch_layers)
    ->ArgNames({"d", "steps", "threads"})
    ->ArgsProduct({{2, 3, 4, 8, 16, 32, 128}, {10}, {1, 2}})
    ->ArgsProduct({{2, 16, 128}, {1}, {1}})
    ->UseRealTime();
BENCHMARK(batch_velocities)
    ->ArgNames({"d", "threads"})
    ->ArgsProduct({{2, 16, 128}, {1}})
    ->UseRealTime();
BENCHMARK(batch_diagram)
    ->ArgNames({"d", "threads"})
    ->ArgsProduct({{2, 16, 128, 1024}, {1, 2}})
    ->UseRealTime();

}  // namespace
}  // namespace attractor::kernels
