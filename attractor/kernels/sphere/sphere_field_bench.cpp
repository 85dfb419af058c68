// Time for each token of one evaluation of the field on the sphere, softmax means of equal tokens.
#include <benchmark/benchmark.h>

#include <cmath>
#include <vector>

#include "attractor/base/random.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/kernels/sphere/sphere_field.hpp"

namespace attractor::kernels {
namespace {

std::vector<double> random_points(std::size_t n) {
  std::vector<double> points(3 * n);
  const Stream stream(1, "bench");
  for (std::size_t i = 0; i < n; ++i) {
    double* x = points.data() + 3 * i;
    for (std::size_t c = 0; c < 3; ++c) x[c] = stream.normal(i, c);
    const double length = std::hypot(x[0], x[1], x[2]);
    for (std::size_t c = 0; c < 3; ++c) x[c] /= length;
  }
  return points;
}

std::vector<double> arranged(const SphereField& field, const std::vector<double>& points) {
  std::vector<double> rows;
  for (const std::uint32_t i : field.in_cells(points))
    for (std::size_t c = 0; c < 3; ++c) rows.push_back(points[3 * std::size_t{i} + c]);
  return rows;
}

// `digits`: the accuracy asked for is 10^-digits. `arranged`: cell by cell, as in a flow.
void sphere(benchmark::State& state) {
  set_threads(static_cast<std::size_t>(state.range(3)));
  const auto n = static_cast<std::size_t>(state.range(0));
  SphereField field({.beta = static_cast<double>(state.range(1)),
                     .accuracy = std::pow(10.0, -static_cast<double>(state.range(2))),
                     .tokens = n});
  std::vector<double> points = random_points(n), mean(3 * n);
  if (state.range(4) == 1) points = arranged(field, points);
  for (auto _ : state) benchmark::DoNotOptimize(field.evaluate(points, {}, {.mean = mean}));
  // Printed with a time suffix: seconds for one token.
  state.counters["token"] =
      benchmark::Counter(static_cast<double>(n), benchmark::Counter::kIsIterationInvariantRate |
                                                     benchmark::Counter::kInvert);
  state.counters["cells"] = static_cast<double>(field.cells());
  state.counters["degree"] = static_cast<double>(field.degree());
}

BENCHMARK(sphere)
    ->ArgNames({"n", "beta", "digits", "threads", "arranged"})
    ->ArgsProduct({{1'000'000}, {1, 10, 100}, {7, 11}, {1}, {0, 1}})
    ->ArgsProduct({{1000, 10'000, 100'000, 10'000'000}, {100}, {7}, {1}, {0}})
    ->ArgsProduct({{1'000'000}, {1000, 10'000}, {7}, {1}, {0}})
    ->ArgsProduct({{1'000'000}, {100}, {7, 11}, {2}, {0}})
    ->UseRealTime();

}  // namespace
}  // namespace attractor::kernels
