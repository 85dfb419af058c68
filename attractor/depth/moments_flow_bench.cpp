// Time for each token of one velocity of all tokens, softmax, in four to eight dimensions: by power
// moments, and by dense rows of the same tokens.
#include "attractor/depth/moments_flow.hpp"

#include <benchmark/benchmark.h>

#include <cmath>
#include <vector>

#include "attractor/base/threads.hpp"
#include "attractor/depth/attention_flow.hpp"
#include "tests/support/random_rows.hpp"

namespace attractor::depth {
namespace {

std::vector<double> random_tokens(std::size_t n, std::size_t dim) {
  return unit_rows(normals_of("bench", 1, n, dim), dim);
}

void time_drift(benchmark::State& state, const flow::Flow& flow, std::size_t n, std::size_t dim) {
  const std::vector<double> tokens = random_tokens(n, dim);
  std::vector<double> out(tokens.size());
  for (auto _ : state) {
    flow.drift(tokens, 0, out);
    benchmark::DoNotOptimize(out.data());
  }
  // Printed with a time suffix: seconds for one token.
  state.counters["token"] =
      benchmark::Counter(static_cast<double>(n), benchmark::Counter::kIsIterationInvariantRate |
                                                     benchmark::Counter::kInvert);
}

// `digits`: the accuracy asked for is 10^-digits.
void moments(benchmark::State& state) {
  set_threads(static_cast<std::size_t>(state.range(4)));
  const auto n = static_cast<std::size_t>(state.range(0));
  const auto dim = static_cast<std::size_t>(state.range(1));
  const MomentsFlow flow({.beta = static_cast<double>(state.range(2)),
                          .accuracy = std::pow(10.0, -static_cast<double>(state.range(3))),
                          .dim = dim},
                         n);
  time_drift(state, flow, n, dim);
  const auto features = static_cast<double>(flow.field().features());
  state.counters["degree"] = static_cast<double>(flow.field().degree());
  state.counters["features"] = features;
  state.counters["flops"] = benchmark::Counter(  // of multiply-adds, in a second
      6 * features * static_cast<double>(n), benchmark::Counter::kIsIterationInvariantRate);
}

void moments_dense(benchmark::State& state) {
  set_threads(1);
  const auto n = static_cast<std::size_t>(state.range(0));
  const auto dim = static_cast<std::size_t>(state.range(1));
  const AttentionFlow flow({.beta = static_cast<double>(state.range(2)), .dim = dim}, n, 0);
  time_drift(state, flow, n, dim);
}

BENCHMARK(moments)
    ->ArgNames({"n", "dim", "beta", "digits", "threads"})
    ->ArgsProduct({{100'000}, {4}, {1, 2, 5, 10, 30}, {8, 11}, {1}})
    ->ArgsProduct({{100'000}, {5}, {1, 2, 5, 10}, {8, 11}, {1}})
    ->ArgsProduct({{100'000}, {6}, {1, 2, 5}, {8, 11}, {1}})
    ->ArgsProduct({{100'000}, {8}, {1}, {8, 11}, {1}})
    ->ArgsProduct({{100'000}, {8}, {2}, {8}, {1}})
    ->ArgsProduct({{10'000, 1'000'000}, {4}, {1, 5, 10}, {8}, {1}})
    ->ArgsProduct({{100'000}, {4}, {1, 10}, {8}, {2}})
    ->ArgsProduct({{100'000}, {6}, {2}, {8}, {2}})
    ->UseRealTime();

BENCHMARK(moments_dense)
    ->ArgNames({"n", "dim", "beta"})
    ->ArgsProduct({{20'000}, {4, 5, 6, 8}, {5}})
    ->UseRealTime();

}  // namespace
}  // namespace attractor::depth
