// The machine's limits, measured: prints one JSON object with
//
//   fma_gflops_f64, _f32    fused multiply-adds of one thread, two flops each, nothing but
//   registers exp_ns_f64, libm_ns_f64 one exponential of our kernels (exp-inl.hpp) and of the C
//   library, from
//                           and to the first cache
//   read_gb_s, read_gb_s_2  reading 256 MB on one thread and on two
//
// Processor time on one thread, wall time on two; best of many short runs.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "attractor/base/threads.hpp"
#include "bench/multiply_add.hpp"
#include "bench/timing.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/machine_timing.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.
#include "attractor/kernels/exp-inl.hpp"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace attractor {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void exponentials(const double* x, std::size_t count, double* out) {
  const hn::ScalableTag<double> d;
  for (std::size_t i = 0; i < count; i += hn::Lanes(d))
    hn::StoreU(kernels::HWY_NAMESPACE::exp_bounded(d, hn::LoadU(d, x + i)), d, out + i);
}

}  // namespace HWY_NAMESPACE
}  // namespace attractor
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attractor {

HWY_EXPORT(exponentials);

namespace {

template <class Work>
double fewest_seconds(int runs, const Work& work) {
  double best = std::numeric_limits<double>::infinity();
  for (int k = 0; k < runs; ++k) {
    const double begin = seconds();
    work();
    best = std::min(best, seconds() - begin);
  }
  return best;
}

template <class Chains>
double gflops(const Chains& chains, double& sum) {
  double flops = 0;
  const double best = fewest_seconds(100, [&] { flops = chains(100'000, sum); });
  return 1e-9 * flops / best;
}

template <class Exp>
double exp_ns(const Exp& exponential, double& sum) {
  constexpr std::size_t kCount = 1024;
  std::vector<double> x(kCount), out(kCount);
  for (std::size_t i = 0; i < kCount; ++i) x[i] = -0.05 * static_cast<double>(i);
  const double best = fewest_seconds(200, [&] {
    for (int k = 0; k < 20; ++k) exponential(x.data(), kCount, out.data());
    sum += out[kCount / 2];
  });
  return 1e9 * best / (20 * kCount);
}

double read_gigabytes_a_second(std::size_t thread_count, double& sum) {
  constexpr std::size_t kBlock = 1 << 15, kCount = 1 << 25;
  set_threads(thread_count);
  const std::vector<double> x(kCount, 1.0);
  std::vector<double> sums(kCount / kBlock);
  const double best = fewest_seconds(12, [&] {
    parallel_for(kCount, kBlock, [&](std::size_t begin, std::size_t end) {
      std::array<double, 32> partial{};  // reading is what takes the time, not adding
      for (std::size_t i = begin; i < end; i += partial.size())
        for (std::size_t k = 0; k < partial.size(); ++k) partial[k] += x[i + k];
      double total = 0;
      for (const double part : partial) total += part;
      sums[begin / kBlock] = total;
    });
  });
  for (const double part : sums) sum += part;
  return 1e-9 * static_cast<double>(kCount * sizeof(double)) / best;
}

void run() {
  double sum = 0;  // where all results go, so that no compiler leaves the work out
  set_threads(1);
  const double f64 = gflops(multiply_add_f64, sum), f32 = gflops(multiply_add_f32, sum);
  const double own = exp_ns(HWY_DYNAMIC_DISPATCH(exponentials), sum);
  const auto libm = [](const double* x, std::size_t count, double* out) {
    for (std::size_t i = 0; i < count; ++i) out[i] = std::exp(x[i]);
  };
  const double library = exp_ns(libm, sum);
  const double one = read_gigabytes_a_second(1, sum), two = read_gigabytes_a_second(2, sum);
  fmt::print(R"({{"fma_gflops_f64": {:.4g}, "fma_gflops_f32": {:.4g}, "exp_ns_f64": {:.4g}, )"
             R"("libm_ns_f64": {:.4g}, "read_gb_s": {:.4g}, "read_gb_s_2": {:.4g}, "sum": {:.6g}}})"
             "\n",
             f64, f32, own, library, one, two, sum);
}

}  // namespace
}  // namespace attractor

int main() { attractor::run(); }
#endif  // HWY_ONCE
