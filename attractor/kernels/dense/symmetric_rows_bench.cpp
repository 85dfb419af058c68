// Time for each ordered pair of the symmetric rows, next to the rows one by one, for tokens spread
// over the sphere and for tokens in clusters, where every strip works with differences.
#include <benchmark/benchmark.h>

#include <cmath>
#include <vector>

#include "attractor/base/random.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/kernels/dense/attention_rows.hpp"
#include "attractor/kernels/dense/symmetric_rows.hpp"

namespace attractor::kernels {
namespace {

struct SymmetricTask {
  std::size_t dim;
  std::vector<double> points, masses, pull, weight, peak;

  SymmetricTask(std::size_t n, std::size_t d, bool clustered)
      : dim(d), points(n * d), masses(n, 1.0), pull(n * d), weight(n), peak(n) {
    const Stream stream(1, "bench");
    for (std::size_t i = 0; i < n; ++i) {
      const auto row = std::span(points).subspan(i * d, d);
      stream.normals(i, row);
      for (double& c : row) c *= clustered ? 1e-3 : 1;
      if (clustered) row[i % d] += 1;
      double length = 0;
      for (double c : row) length += c * c;
      for (double& c : row) c /= std::sqrt(length);
    }
  }
  DistanceSources sources() const { return {dim, points, {}, masses, 9.0, 0.0}; }
  RowSums sums() { return {pull, weight, {}, peak}; }
};

template <bool kSymmetric, bool kClustered>
void all_rows(benchmark::State& state) {
  set_threads(static_cast<std::size_t>(state.range(2)));
  SymmetricTask task(static_cast<std::size_t>(state.range(0)),
                     static_cast<std::size_t>(state.range(1)), kClustered);
  for (auto _ : state) {
    if (kSymmetric)
      symmetric_rows(task.sources(), task.sums());
    else
      distance_rows(task.sources(), {}, task.sums());
  }
  // Printed with a time suffix: seconds for one ordered pair.
  state.counters["pair"] = benchmark::Counter(
      static_cast<double>(state.range(0)) * static_cast<double>(state.range(0)),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void sizes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"n", "d", "threads"})
      ->ArgsProduct({{64, 1024, 4096}, {2, 3, 8, 16, 64, 128}, {1}})
      ->ArgsProduct({{4096}, {2, 3, 16, 64}, {2}})
      ->UseRealTime();
}

BENCHMARK(all_rows<true, false>)->Name("symmetric")->Apply(sizes);
BENCHMARK(all_rows<false, false>)->Name("one_by_one")->Apply(sizes);
BENCHMARK(all_rows<true, true>)->Name("symmetric_clustered")->Apply(sizes);

}  // namespace
}  // namespace attractor::kernels
