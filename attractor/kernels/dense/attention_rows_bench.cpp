// Time for each ordered pair of the fused rows, next to the plain loops they are tested against.
#include <benchmark/benchmark.h>

#include <cmath>
#include <vector>

#include "attractor/base/random.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/kernels/dense/attention_rows.hpp"

namespace attractor::kernels {
namespace {

struct Task {
  std::size_t dim;
  std::vector<double> points, masses, pull, weight, peak;

  Task(std::size_t n, std::size_t d)
      : dim(d), points(n * d), masses(n, 1.0), pull(n * d), weight(n), peak(n) {
    const Stream stream(1, "bench");
    for (std::size_t i = 0; i < n; ++i) {
      const auto row = std::span(points).subspan(i * d, d);
      stream.normals(i, row);
      double length = 0;
      for (double c : row) length += c * c;
      for (double& c : row) c /= std::sqrt(length);
    }
  }
  DistanceSources distance() const { return {dim, points, {}, masses, 9.0, 0.0}; }
  LogitSources logits() const { return {dim, points, points, points, masses, 9.0}; }
  RowSums sums() { return {pull, weight, {}, peak}; }
};

void report(benchmark::State& state, std::size_t n) {
  // Printed with a time suffix: seconds for one ordered pair.
  state.counters["pair"] = benchmark::Counter(
      static_cast<double>(n) * static_cast<double>(n),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void distance(benchmark::State& state) {
  set_threads(static_cast<std::size_t>(state.range(2)));
  Task task(static_cast<std::size_t>(state.range(0)), static_cast<std::size_t>(state.range(1)));
  for (auto _ : state) distance_rows(task.distance(), {}, task.sums());
  report(state, task.masses.size());
}

void logits(benchmark::State& state) {
  set_threads(static_cast<std::size_t>(state.range(2)));
  Task task(static_cast<std::size_t>(state.range(0)), static_cast<std::size_t>(state.range(1)));
  for (auto _ : state) logit_rows(task.logits(), {}, task.sums());
  report(state, task.masses.size());
}

void plain_distance(benchmark::State& state) {
  Task task(static_cast<std::size_t>(state.range(0)), static_cast<std::size_t>(state.range(1)));
  for (auto _ : state) distance_rows_reference(task.distance(), {}, task.sums());
  report(state, task.masses.size());
}

BENCHMARK(distance)
    ->ArgNames({"n", "d", "threads"})
    ->ArgsProduct({{1024, 4096, 16384}, {2, 3, 16, 64}, {1}})
    ->ArgsProduct({{4096}, {2, 3, 16, 64}, {2}})
    ->UseRealTime();
BENCHMARK(logits)
    ->ArgNames({"n", "d", "threads"})
    ->ArgsProduct({{4096}, {2, 3, 16, 64}, {1}})
    ->UseRealTime();
BENCHMARK(plain_distance)
    ->ArgNames({"n", "d"})
    ->ArgsProduct({{1024}, {2, 3, 16, 64}})
    ->UseRealTime();

}  // namespace
}  // namespace attractor::kernels
