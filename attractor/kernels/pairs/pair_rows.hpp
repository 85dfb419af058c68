// Rows of the matrix of pairs, one number for each pair: 1 - cosine of two directions,
//
//   gap_ij = |u_i - u_j|^2 / 2,   1 where a token has no direction (u = 0),
//
// without cancellation between close ones. Nothing is stored: of each row the originals within a
// gap and, if asked for, all of them by hundredths of the cosine; of a block of rows its farthest
// pair. Masses are whole numbers, so the sums are exact; each gap is summed over coordinates in
// order by one SIMD lane, without fused multiply-adds: the same bits on every processor. Cost:
// 3 dim + 7 operations a pair.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attractor/base/scratch.hpp"

namespace attractor::kernels {

inline constexpr std::size_t kGapBins = 100;

/// Bin b holds the cosines [-1 + b/50, -1 + (b+1)/50), the last one its upper end too. A cosine
/// that misses an edge by rounding (2e-11) counts as on it.
std::size_t gap_bin(double gap);

/// Tokens as columns of the matrix: directions in tiles of kTile, coordinate by coordinate.
class PairColumns {
 public:
  static constexpr std::size_t kTile = 8;

  /// directions: n x dim, unit vectors or zeros.
  PairColumns(std::span<const double> directions, std::size_t dim, std::span<const double> masses);

  std::size_t dim() const { return dim_; }
  std::size_t tiles() const { return masses_.size() / kTile; }
  /// dim x kTile.
  const double* tile(std::size_t t) const { return &points_[t * dim_ * kTile]; }
  const double* masses(std::size_t t) const { return &masses_[t * kTile]; }  // 0 behind the last
  const double* no_direction(std::size_t t) const { return &zero_[t * kTile]; }  // 1 or 0
  double at(std::size_t i, std::size_t a) const {
    return points_[(i / kTile * dim_ + a) * kTile + i % kTile];
  }
  bool has_direction(std::size_t i) const { return zero_[i] == 0; }

 private:
  std::size_t dim_;
  std::vector<double> masses_, zero_;
  Scratch<double> points_;
};

struct PairRowsRequest {
  std::span<const std::uint32_t> rows;  // a block: at most kMostPairRows, ascending if `upper`
  double near_gap = 0;
  bool upper = false;      // columns j > i only; else all but i
  bool histogram = false;  // fill bins
};
inline constexpr std::size_t kMostPairRows = 32;

/// Originals in the columns of a row.
struct PairRow {
  double near = 0;  // within near_gap
  std::array<double, kGapBins> bins{};
};

struct FarthestPair {
  double gap = 0;
  std::size_t i = 0, j = 0;
};

/// found: one for each row, added to. `farthest` is replaced by a pair that is farther.
void pair_rows(const PairColumns& columns, const PairRowsRequest& request, std::span<PairRow> found,
               FarthestPair& farthest);
/// The same in plain loops.
void pair_rows_reference(const PairColumns& columns, const PairRowsRequest& request,
                         std::span<PairRow> found, FarthestPair& farthest);

}  // namespace attractor::kernels
