// The field of attention on the sphere in d = 3 .. 8 dimensions, all tokens with all tokens, in
// O(n), for moderate beta. With unit vectors x_j and weights of sum 1
//
//   Z(x) = sum_j w_j e^{beta (<x_j, x> - 1)}          partition
//   D(x) = sum_j w_j e^{beta (<x_j, x> - 1)} x_j      pull: its tangent part P D = grad Z / beta,
//                                                     along: its normal part <D, x>
//
// and the mean P D / Z. The exponential is a polynomial of degree p (power_series.hpp), hence Z one
// in x whose coefficients are the moments sum_j w_j x_j^i. On the sphere those of degree p and
// p - 1 are enough (power_levels.hpp): F = binomial(p+d-1, d-1) + binomial(p+d-2, d-1) of them, and
// 3F multiply-adds a token as products of matrices (power_passes.hpp).
//
// Error of Z, of P D and of <D, x>: absolute, known beforehand for each p. p is the least for which
// the error of a velocity is at most `accuracy`: that of P D, or that of the mean, at most twice it
// over the smallest Z. That is known after an evaluation, which is then repeated with a higher p if
// need be; the result depends on the tokens only, not on evaluations before. It is one polynomial:
// the error is smooth.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "attractor/kernels/sphere/sphere_field.hpp"

namespace attractor::kernels {

struct PowerMomentsSettings {
  std::size_t dim = 4;     // 3 .. 8
  double beta = 1;         // 0 .. 100
  double accuracy = 1e-9;  // 1e-11 .. 1e-4, of a velocity
  bool means = true;       // velocities are means, not pulls
  std::size_t tokens = 1;
};

/// What an evaluation would take.
struct PowerMomentsCost {
  bool possible = false;  // the accuracy can be reached for evenly spread tokens, within 1 GB
  std::size_t degree = 0;
  double features = 0;  // F
  double token_ns = 0;  // on one core: measured, see docs/decisions/engines.md
  double fixed_ns = 0;
};
PowerMomentsCost power_moments_cost(const PowerMomentsSettings& settings);

/// Reused between evaluations: it holds tables and scratch.
class PowerMoments {
 public:
  /// Throws Error on settings out of range or too costly.
  explicit PowerMoments(const PowerMomentsSettings& settings);
  ~PowerMoments();
  PowerMoments(PowerMoments&&) noexcept;
  PowerMoments& operator=(PowerMoments&&) noexcept;

  /// Points: n x dim, unit vectors in any order. Weights: positive, of any sum, divided by it;
  /// empty: equal. The result does not depend on the number of threads.
  SphereFieldSummary evaluate(std::span<const double> points, std::span<const double> weights,
                              const SphereFieldOut& out);

  /// Any order of the tokens is as fast: none.
  std::vector<std::uint32_t> in_cells(std::span<const double>) const { return {}; }

  std::size_t degree() const;  // of the last evaluation
  std::size_t features() const;

 private:
  struct Engine;
  std::unique_ptr<Engine> engine_;
};

}  // namespace attractor::kernels
