// Times one evaluation of softmax attention on the sphere for bench/attention_peer.py:
//
//   attention_timing DIRECTORY N D BETA THREADS REPETITIONS [avx2]
//
// reads tokens.f64 (n x d) and query.f64, key.f64, value.f64 (d x d) and prints one JSON object:
// for Q = K = V = I ("plain") and for the given matrices ("general"), and for both in single
// precision ("plain_f32", "general_f32"), the fewest nanoseconds of an ordered pair and two
// coordinates of the last token's velocity to compare; and the peak of fused multiply-adds of one
// thread, in doubles, in the same minutes. With avx2 no wider vectors are used. Processor time on
// one thread, wall time on more.
#include <fmt/format.h>
#include <hwy/targets.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "attractor/attention/attention.hpp"
#include "attractor/base/error.hpp"
#include "attractor/base/threads.hpp"
#include "bench/multiply_add.hpp"
#include "bench/timing.hpp"

namespace attractor {
namespace {

double fma_gflops() {
  double best = 0, sum = 0;
  for (int k = 0; k < 100; ++k) {
    const double begin = seconds();
    const double flops = multiply_add_f64(20000, sum);
    best = std::max(best, 1e-9 * flops / (seconds() - begin));
  }
  return sum > 0 ? best : 0;
}

std::vector<double> read(const std::string& path, std::size_t count) {
  std::vector<double> values(count);
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(values.data()),
            static_cast<std::streamsize>(count * sizeof(double)));
  if (!file) throw Error(fmt::format("{} does not hold {} doubles", path, count));
  return values;
}

// The tangent part of the softmax output of the last token.
std::vector<double> last_velocity(const AttentionSums& sums, const std::vector<double>& tokens,
                                  std::size_t dim) {
  const std::size_t i = sums.weight.size() - 1;
  const auto z = sums.partition(i, 1.0);
  const double factor = std::exp(sums.peak[i] - z.top) / z.scaled;
  const std::vector<double>& values = sums.values.empty() ? tokens : sums.values;
  std::vector<double> v(dim);
  double normal = 0;
  for (std::size_t a = 0; a < dim; ++a) {
    v[a] = values[i * dim + a] + factor * sums.pull[i * dim + a];
    normal += v[a] * tokens[i * dim + a];
  }
  for (std::size_t a = 0; a < dim; ++a) v[a] -= normal * tokens[i * dim + a];
  return v;
}

std::string timed(const Attention& attention, const std::vector<double>& tokens, int repetitions,
                  Precision precision) {
  const std::size_t n = tokens.size() / attention.dim;
  const std::vector<double> masses(n, 1.0);
  AttentionSums sums;
  double best = std::numeric_limits<double>::infinity();
  for (int k = 0; k <= repetitions; ++k) {  // the first one warms up
    const double begin = seconds();
    attend(attention, tokens, masses, {.precision = precision}, sums);
    if (k > 0) best = std::min(best, seconds() - begin);
  }
  const std::vector<double> v = last_velocity(sums, tokens, attention.dim);
  return fmt::format(R"({{"pair_ns": {:.6g}, "shown": [{:.17g}, {:.17g}]}})",
                     1e9 * best / static_cast<double>(n * n), v[0], v[1]);
}

void run(char** argument) {
  const std::string directory = argument[1];
  const std::size_t n = std::stoul(argument[2]), dim = std::stoul(argument[3]);
  const double beta = std::stod(argument[4]);
  set_threads(std::stoul(argument[5]));
  const int repetitions = std::stoi(argument[6]);
  const std::vector<double> tokens = read(directory + "/tokens.f64", n * dim);
  Attention attention{.beta = beta, .dim = dim};
  const auto both = [&](const char* form) {
    return fmt::format(R"("{0}": {1}, "{0}_f32": {2})", form,
                       timed(attention, tokens, repetitions, Precision::f64),
                       timed(attention, tokens, repetitions, Precision::f32));
  };
  const std::string plain = both("plain");
  attention.query = read(directory + "/query.f64", dim * dim);
  attention.key = read(directory + "/key.f64", dim * dim);
  attention.value = read(directory + "/value.f64", dim * dim);
  const std::string general = both("general");
  fmt::print(R"({{"peak_gflops": {:.4g}, {}, {}}})", fma_gflops(), plain, general);
}

}  // namespace
}  // namespace attractor

int main(int count, char** argument) {
  const bool narrow = count == 8 && std::string_view(argument[7]) == "avx2";
  if (count != 7 && !narrow) {
    fmt::print(stderr, "usage: attention_timing DIRECTORY N D BETA THREADS REPETITIONS [avx2]\n");
    return 2;
  }
  if (narrow) hwy::SetSupportedTargetsForTest(HWY_AVX2);
  try {
    attractor::run(argument);
  } catch (const std::exception& error) {
    fmt::print(stderr, "attention_timing: {}\n", error.what());
    return 1;
  }
}
