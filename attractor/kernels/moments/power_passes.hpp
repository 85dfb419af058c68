// The passes of power_moments.hpp over a chunk of tokens. Coordinates fall into two groups, a and
// b; u runs over the monomials x^i / i! of the first group, v over those of the second, degree by
// degree. A polynomial whose terms have degree p - 1 or p is, for each degree q of u, a matrix over
// u of degree q and v of the two neighbouring degrees p - 1 - q and p - q:
//
//   moments    M_q = U_q^T V_q              summed over tokens
//   values     G_q = C_q V_q                Phi = sum_q u G_q, d Phi / d x_a = sum_q (du/dx_a) G_q
//              H_r = U_r^T C                d Phi / d x_b = sum_r (dv/dx_b) H_r
//
// three times the number of coefficients in multiply-adds of a token. Divided powers make a
// derivative another monomial.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hwy/aligned_allocator.h"

namespace attractor::kernels {

inline constexpr std::size_t kPowerTile = 12;     // rows of coefficients side by side
inline constexpr std::size_t kPowerMostVars = 4;  // of a group

double binomial(std::size_t n, std::size_t k);

/// Monomials of one group up to the degree p; row `count` stands for zero.
struct PowerGroup {
  PowerGroup(std::size_t vars, std::size_t degree);

  std::size_t vars, count;
  std::vector<std::size_t> first;        // row of each degree 0 .. p; p + 1: count
  std::vector<std::uint32_t> exponents;  // count x vars
  std::vector<std::uint32_t> down;       // count x vars: the monomial over x_c
  std::vector<std::uint32_t> up;         // count x vars: times x_c^2, up to degree p - 2
  std::vector<std::uint32_t> last;       // the last coordinate in a monomial
  std::vector<double> inverse;           // one over its exponent
  std::vector<double> factorial;         // i!, product over the group

  std::size_t rows(std::size_t degree) const { return first[degree + 1] - first[degree]; }
};

struct PowerShape {
  PowerShape(std::size_t dim, std::size_t degree);

  std::size_t dim, degree;
  PowerGroup a, b;
  std::size_t features = 0;         // coefficients
  std::vector<std::size_t> blocks;  // where M_q begins, q = 0 .. p + 1: rows u, columns v
  std::size_t tokens, stride;       // of a chunk whose moments are summed, and from row to row
  std::size_t few, few_stride;      // of one where polynomials are evaluated; multiples of 16

  /// Rows of the other group that meet degree q: those of degrees p - 1 - q and p - q.
  std::size_t begin(const PowerGroup& other, std::size_t q) const {
    return q == degree ? 0 : other.first[degree - 1 - q];
  }
  std::size_t end(const PowerGroup& other, std::size_t q) const {
    return other.first[degree - q + 1];
  }
};

/// Coefficients of a polynomial in tiles of rows: [tile][column][row], rows u or rows v.
struct PowerCoefficients {
  std::vector<double> by_a, by_b;  // b: for the gradient only
};

/// The rows of tile t of `rows` rows: as even as can be.
inline std::size_t power_tiles(std::size_t rows) { return (rows + kPowerTile - 1) / kPowerTile; }
inline std::size_t power_tile_begin(std::size_t rows, std::size_t t) {
  return t * rows / power_tiles(rows);
}

/// What one thread works on: one chunk of tokens, all arrays [..][stride].
struct PowerScratch {
  explicit PowerScratch(const PowerShape& shape);

  std::size_t count = 0, stride = 0;             // tokens, then padding up to a multiple of 16
  hwy::AlignedFreeUniquePtr<double[]> x;         // dim, unit vectors
  hwy::AlignedFreeUniquePtr<double[]> weight;    // 1
  hwy::AlignedFreeUniquePtr<double[]> a, b;      // monomials
  hwy::AlignedFreeUniquePtr<double[]> value;     // 1
  hwy::AlignedFreeUniquePtr<double[]> gradient;  // dim
};

/// Adds the moments of the chunk.
void add_power_moments(const PowerShape& shape, PowerScratch& chunk, double* moments);
/// Monomials of the chunk, without weights: what the next two need.
void fill_power_monomials(const PowerShape& shape, PowerScratch& chunk);
/// Value and, if wanted, gradient of a polynomial at the tokens of the chunk.
void evaluate_powers(const PowerShape& shape, const PowerCoefficients& coefficients, bool gradient,
                     PowerScratch& chunk);

}  // namespace attractor::kernels
