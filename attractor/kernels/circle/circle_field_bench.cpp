// Time for each token of one evaluation of the field on the circle, softmax means of equal tokens.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <vector>

#include "attractor/base/random.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/kernels/circle/circle_field.hpp"

namespace attractor::kernels {
namespace {

// Sorting 10^7 takes longer than all evaluations of them: once for each size.
const std::vector<double>& sorted_angles(std::size_t n) {
  static std::map<std::size_t, std::vector<double>> made;
  std::vector<double>& angles = made[n];
  if (!angles.empty()) return angles;
  angles.resize(n);
  const Stream stream(1, "bench");
  for (std::size_t i = 0; i < n; ++i) angles[i] = std::numbers::pi * (2 * stream.uniform(i, 0) - 1);
  std::sort(angles.begin(), angles.end());
  return angles;
}

void circle(benchmark::State& state) {
  set_threads(static_cast<std::size_t>(state.range(3)));
  const auto n = static_cast<std::size_t>(state.range(0));
  const std::vector<double>& angles = sorted_angles(n);
  std::vector<double> mean(n);
  CircleField field({.beta = static_cast<double>(state.range(1)),
                     .accuracy = std::pow(10.0, -static_cast<double>(state.range(2))),
                     .tokens = n});
  for (auto _ : state) benchmark::DoNotOptimize(field.evaluate(angles, {}, {.mean = mean}));
  // Printed with a time suffix: seconds for one token.
  state.counters["token"] =
      benchmark::Counter(static_cast<double>(n), benchmark::Counter::kIsIterationInvariantRate |
                                                     benchmark::Counter::kInvert);
  state.counters["cells"] = static_cast<double>(field.cells());
  state.counters["powers"] = static_cast<double>(field.powers());
}

// `digits`: the accuracy asked for is 10^-digits.
BENCHMARK(circle)
    ->ArgNames({"n", "beta", "digits", "threads"})
    ->ArgsProduct({{100'000, 1'000'000, 10'000'000}, {1, 10, 100, 1000}, {10}, {1}})
    ->ArgsProduct({{1'000'000}, {0, 10'000}, {4, 10, 12}, {1}})
    ->ArgsProduct({{10'000'000}, {100}, {10}, {2}})
    ->UseRealTime();

}  // namespace
}  // namespace attractor::kernels
