// Microseconds of one velocity of 8 tokens in dimension 3, as Python's `velocity` asks for it:
//
//   velocity_timing
//
// The best of five times 20,000 calls, for bench/python_peer.py.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <span>
#include <vector>

#include "attractor/base/random.hpp"
#include "attractor/depth/velocity.hpp"

int main() {
  using namespace attractor;
  constexpr std::size_t kTokens = 8, kDim = 3, kCalls = 20'000;
  std::vector<double> tokens(kTokens * kDim), out(kTokens * kDim);
  Stream(3, "velocity").normals(0, tokens);
  for (std::size_t i = 0; i < tokens.size(); i += kDim) {
    const double length = std::hypot(tokens[i], tokens[i + 1], tokens[i + 2]);
    for (std::size_t k = i; k < i + kDim; ++k) tokens[k] /= length;
  }
  const depth::VelocityTask task{
      .attention = {.rule = Rule::softmax, .beta = 4, .dim = kDim, .on_sphere = true}};
  double best = 1e9;
  for (int repeat = 0; repeat < 5; ++repeat) {
    const auto begin = std::chrono::steady_clock::now();
    for (std::size_t k = 0; k < kCalls; ++k) depth::velocity(task, tokens, {}, out);
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
    best = std::min(best, took.count() / kCalls);
  }
  fmt::print("{:.3f}\n", best);
}
