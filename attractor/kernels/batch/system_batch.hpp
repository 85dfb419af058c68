// Many small independent systems of attention on the sphere (Q = K = V = I), side by side in the
// lanes of SIMD vectors. For each system, n unit tokens x_i in R^d:
//
//   w_ij = e^{-beta |x_i - x_j|^2 / 2} = e^{beta (<x_i,x_j> - 1)},   s_i = sum_j w_ij x_j
//   A_i  = s_i / sum_j w_ij  (softmax)   or   e^beta s_i / n  (unnormalised)
//   layers  x_i <- normalise(x_i + h A_i)       euler, rk4  of  x_i' = P_i A_i, with retraction
//
// Unnormalised attention is measured in units of time e^{-beta}: nothing overflows, whatever beta.
// A system is steered by its own numbers only and its sums are taken in a fixed order: its bits do
// not depend on the other systems, on the split into calls, nor on threads. A block of 2 to 8
// systems makes all its steps while it lies in the cache. Cost of a step: n^2 (3/2 d + 10) vector
// operations a block; memory (4 n d + n^2) doubles for each system in flight.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace attractor::kernels {

enum class BatchMethod { layers, euler, rk4 };
inline std::span<const std::string_view> names(BatchMethod) {
  static constexpr std::string_view kNames[] = {"layers", "euler", "rk4"};
  return kNames;
}

struct SystemBatch {
  std::size_t tokens = 0, dim = 0;
  bool softmax = true;
  std::span<const double> betas;  // one for each system, >= 0

  std::size_t systems() const { return betas.size(); }
  std::size_t system_size() const { return tokens * dim; }
};

struct BatchSteps {
  BatchMethod method = BatchMethod::layers;
  std::span<const double> sizes;  // h of each system; layers need h <= 1: A never cancels x then
  std::uint64_t count = 0;
  std::span<const std::uint64_t> counted;  // rising, <= count: steps after which pairs are counted
  double threshold = 0.999;                // a pair is close if its cosine is at least this
};

/// velocity_i = P_i A_i. `tokens` and `velocity`: systems x n x d, row-major; tokens of unit
/// length.
void batch_velocity(const SystemBatch& batch, std::span<const double> tokens,
                    std::span<double> velocity);

/// Advances `tokens` in place. `close`: systems x counted.size(), the fraction of close pairs
/// i != j (1 - cosine taken as |x_i - x_j|^2 / 2; 1 if n = 1).
void batch_advance(const SystemBatch& batch, const BatchSteps& steps, std::span<double> tokens,
                   std::span<double> close);

}  // namespace attractor::kernels
