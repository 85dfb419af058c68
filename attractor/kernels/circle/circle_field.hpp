// The field of attention on the circle, all tokens with all tokens, in O(n). With weights of sum 1
//
//   Z(theta) = sum_j w_j e^{beta (cos(theta_j - theta) - 1)}                        partition
//   D(theta) = sum_j w_j e^{beta (cos(theta_j - theta) - 1)} sin(theta_j - theta)   pull = Z'/beta
//
// and the mean D/Z. Sorted tokens fall into equal cells; power sums of each cell, one FFT over the
// cells for each power, the kernel's Fourier coefficients e^{-beta} I_k(beta), and the same way
// back to one polynomial per cell. Powers come from the truncated Jacobi-Anger series e^{ixu} = J_0
// + 2 sum i^b J_b(x) T_b(u) (circle_series.hpp), whose error is known before anything is computed:
// number of cells and degree are the cheapest that keep it below what was asked.
//
// Error of Z and of D: at most `accuracy`, absolutely (both are at most 1; beta = 0 has Z = 1). So
// the mean is right to 2 accuracy / Z. Inside one cell the error is a smooth function: tokens
// closer together than that still attract each other rightly; across an edge of cells it may jump.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "attractor/kernels/field_out.hpp"

namespace attractor::kernels {

struct CircleFieldSettings {
  double beta = 1;          // 0 .. 1e4
  double accuracy = 1e-10;  // 1e-12 .. 1e-4
  std::size_t tokens = 1;
};

struct CircleFieldSummary {
  bool in_order = true;  // false: nothing was computed, the tokens must be sorted first
  double energy = 0;     // sum_ij w_i w_j e^{beta (cos(theta_i - theta_j) - 1)}, error <= accuracy
  double order = 0;      // |sum_j w_j e^{i theta_j}|
  double largest_pull = 0;        // of |D| over tokens, if anything was asked for
  double smallest_partition = 1;  // over tokens, if partition or mean was
  double largest_mean = 0;        // of |D/Z|, likewise
};

/// Reused between evaluations: it holds the transforms, tables and scratch for one size.
class CircleField {
 public:
  /// Throws Error on settings out of range.
  explicit CircleField(const CircleFieldSettings& settings);
  ~CircleField();
  CircleField(CircleField&&) noexcept;
  CircleField& operator=(CircleField&&) noexcept;

  /// Angles ascending, all within one turn of the first; being out of order by less than a
  /// thousandth of half a cell does no harm. Accurate for |angle| up to 10 (positions are rounded).
  /// Weights: positive, of any sum, divided by it; empty: equal. The result does not depend on the
  /// number of threads.
  CircleFieldSummary evaluate(std::span<const double> angles, std::span<const double> weights,
                              const CircleFieldOut& out);

  std::size_t cells() const;
  std::size_t powers() const;  // of each cell
  std::size_t modes() const;   // highest Fourier mode of the kernel that is kept
  double error_bound() const;  // of Z and D, before rounding; at most 0.7 accuracy

 private:
  struct Plan;
  std::unique_ptr<Plan> plan_;
};

}  // namespace attractor::kernels
