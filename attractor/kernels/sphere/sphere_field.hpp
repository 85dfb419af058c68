// The field of attention on the sphere in three dimensions, all tokens with all tokens, in O(n).
// With unit vectors x_j and weights of sum 1
//
//   Z(x) = sum_j w_j e^{beta (<x_j, x> - 1)}          partition
//   D(x) = sum_j w_j e^{beta (<x_j, x> - 1)} x_j      pull: its tangent part P D = grad Z / beta,
//                                                     along: its normal part <D, x>
//
// and the mean P D / Z. Tokens fall into cells; power sums of each cell, spherical harmonics across
// the cells, in which the kernel is diagonal (Funk-Hecke), and the same way back to one polynomial
// per cell (sphere_cells.hpp, sphere_transform.hpp). Number of cells and degree are the cheapest
// that keep the error below what was asked. Cost: O(n) and a part independent of n, which grows
// like beta^{3/2}: 0.4 ms at beta = 10, 3 ms at 100, 0.5 s at 10^4, for an accuracy of 1e-7.
//
// Error of Z, of |P D| and of <D, x>: at most `accuracy`, absolutely (all are at most 1; beta = 0
// has Z = 1). So the mean is right to 2 accuracy / Z. Inside one cell the error is a smooth
// function: tokens closer together than that still attract each other rightly; across an edge of
// cells it may jump.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "attractor/kernels/field_out.hpp"

namespace attractor::kernels {

struct SphereFieldSettings {
  double beta = 1;         // 0 .. 1e4
  double accuracy = 1e-9;  // 1e-11 .. 1e-4
  std::size_t tokens = 1;
};

struct SphereFieldSummary {
  bool on_sphere = true;          // false: nothing was computed, a token is no unit vector to 1e-6
  double energy = 0;              // sum_ij w_i w_j e^{beta (<x_i, x_j> - 1)}, error <= accuracy
  double order = 0;               // |sum_j w_j x_j|
  double largest_pull = 0;        // of |P D| over tokens, if anything was asked for
  double smallest_partition = 1;  // over tokens, likewise
  double largest_mean = 0;        // of |P D| / Z, likewise
  double error = 0;               // bound of the errors of Z, of P D and of <D, x>
  bool scattered = false;         // in_cells() would make the next evaluation faster
};

/// Reused between evaluations: it holds the transforms, tables and scratch for one size.
class SphereField {
 public:
  /// Throws Error on settings out of range.
  explicit SphereField(const SphereFieldSettings& settings);
  ~SphereField();
  SphereField(SphereField&&) noexcept;
  SphereField& operator=(SphereField&&) noexcept;

  /// Points: n x 3, unit vectors in any order; nearly twice as fast if those of
  /// one cell are neighbours in memory. Weights: positive, of any sum, divided by it; empty: equal.
  /// The result does not depend on the number of threads.
  SphereFieldSummary evaluate(std::span<const double> points, std::span<const double> weights,
                              const SphereFieldOut& out);

  /// The tokens numbered cell by cell; empty if one is no unit vector.
  std::vector<std::uint32_t> in_cells(std::span<const double> points) const;

  std::size_t cells() const;
  std::size_t degree() const;  // of the polynomials
  std::size_t modes() const;   // highest degree of spherical harmonics that is kept
  double error_bound() const;  // of Z and D, before rounding; at most 0.7 accuracy

 private:
  struct Plan;
  std::unique_ptr<Plan> plan_;
};

}  // namespace attractor::kernels
