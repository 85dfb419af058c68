// What lies between the two passes of power_moments.hpp, once for all tokens. With unit vectors y_j
//
//   L_i = sum_j w_j y_j^i,  |i| = k          level k; from that of degree k + 2, since |y|^2 = 1:
//                                            L_i = sum_c L_{i + 2 e_c}
//   sum_j w_j P(<x, y_j>) = sum_k c_k sum_{|i|=k} k!/i! L_i x^i      P(t) = sum_k c_k t^k
//
// and each degree k is brought to p or p - 1 by factors |x|^2 = 1, all of them as in Horner's
// scheme. Cost: 2d multiply-adds for each of the binomial(p + d, d) moments of all levels.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "attractor/kernels/moments/power_passes.hpp"

namespace attractor::kernels {

class PowerLevels {
 public:
  explicit PowerLevels(const PowerShape& shape);

  /// All levels from moments (of divided powers, as the passes sum them) times `scale`.
  void fill(std::span<const double> moments, double scale);
  /// sum_ij w_i w_j P(<y_i, y_j>).
  double pair_sum(std::span<const double> series) const;
  /// |sum_j w_j y_j|.
  double mean_length() const;
  /// The polynomial sum_j w_j P(<x, y_j>).
  PowerCoefficients coefficients(std::span<const double> series) const;

 private:
  /// Values of one degree k: for q = 0 .. k rows u of degree q, columns v of degree k - q.
  struct Level {
    std::vector<std::size_t> block;
    std::vector<double> values;
  };
  Level empty(std::size_t k) const;
  void contract(std::size_t k);
  Level raised(const Level& low, std::size_t k) const;
  Level homogeneous(std::span<const double> series, std::size_t degree) const;
  PowerCoefficients packed(const Level& even, const Level& odd) const;

  const PowerShape& shape_;
  std::vector<Level> levels_;
  std::vector<double> factorial_;
};

}  // namespace attractor::kernels
