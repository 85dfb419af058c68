#include "attractor/kernels/pairs/pair_rows.hpp"

#include <algorithm>
#include <cassert>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attractor/kernels/pairs/pair_rows.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.
#include "attractor/kernels/exp-inl.hpp"
#include "hwy/highway.h"

#ifndef ATTRACTOR_KERNELS_PAIR_BLOCK
#define ATTRACTOR_KERNELS_PAIR_BLOCK
namespace attractor::kernels {
// What a block of rows is read with: their directions, and what has been found.
struct PairBlock {
  const PairColumns& columns;
  const PairRowsRequest& request;
  const double* points;        // rows x dim
  const double* no_direction;  // 1 or 0
  PairRow* found;
  FarthestPair* farthest;
  double* near;  // rows x kTile: originals within the gap, lane by lane
};
constexpr double kEdgeMissed = 1e-9;  // of a bin
}  // namespace attractor::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace attractor::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kTile = PairColumns::kTile;
constexpr std::size_t kRowsTogether = 4;
using GapTag = hn::CappedTag<double, kTile>;

// Masses of a tile's columns as row i counts them.
HWY_INLINE const double* masses_for(const PairBlock& b, std::size_t tile, std::size_t i,
                                    double* edited) {
  const double* masses = b.columns.masses(tile);
  const std::size_t first = tile * kTile;
  const bool edge = b.request.upper ? first <= i : first <= i && i < first + kTile;
  if (!edge) return masses;
  for (std::size_t lane = 0; lane < kTile; ++lane) {
    const std::size_t j = first + lane;
    edited[lane] = j == i || (b.request.upper && j < i) ? 0.0 : masses[lane];
  }
  return edited;
}

// Of one row, whose gaps to the tile are known: by hundredths of the cosine.
HWY_INLINE void count_bins(const double* gaps, const double* masses, PairRow& row) {
  const GapTag d;
  HWY_ALIGN double places[kTile];
  for (std::size_t v = 0; v < kTile; v += hn::Lanes(d)) {
    const auto place = hn::Add(
        hn::Mul(hn::Sub(hn::Set(d, 2.0), hn::LoadU(d, gaps + v)), hn::Set(d, kGapBins / 2.0)),
        hn::Set(d, kEdgeMissed));
    const auto inside = hn::Min(hn::Max(place, hn::Zero(d)), hn::Set(d, kGapBins - 1.0));
    hn::StoreU(inside, d, places + v);
  }
  for (std::size_t lane = 0; lane < kTile; ++lane)
    row.bins[static_cast<std::size_t>(static_cast<int>(places[lane]))] += masses[lane];
}

// The first of the farthest, in the order of lanes.
void keep_farthest(const PairBlock& b, std::size_t i, std::size_t tile, const double* gaps,
                   const double* masses) {
  for (std::size_t lane = 0; lane < kTile; ++lane)
    if (masses[lane] > 0 && gaps[lane] > b.farthest->gap)
      *b.farthest = {gaps[lane], i, tile * kTile + lane};
}

template <std::size_t kRows>
void read_tile(const PairBlock& b, std::size_t tile, std::size_t first_row) {
  const GapTag d;
  using V = hn::Vec<GapTag>;
  constexpr std::size_t kVectors = kTile / hn::MaxLanes(GapTag());
  const std::size_t dim = b.columns.dim(), lanes = hn::Lanes(d);
  const double* points = b.points + first_row * dim;
  const double* columns = b.columns.tile(tile);
  HWY_ALIGN double gaps[kTile], edited[kTile];
  V sums[kRows][kVectors];
  ATTRACTOR_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) {
    ATTRACTOR_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) sums[r][v] = hn::Zero(d);
  }
  for (std::size_t a = 0; a < dim; ++a) {
    ATTRACTOR_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) {
      const V column = hn::LoadU(d, columns + a * kTile + v * lanes);
      ATTRACTOR_UNROLL
      for (std::size_t r = 0; r < kRows; ++r) {
        const V apart = hn::Sub(hn::Set(d, points[r * dim + a]), column);
        sums[r][v] = hn::Add(sums[r][v], hn::Mul(apart, apart));
      }
    }
  }
  ATTRACTOR_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) {
    const std::size_t row = first_row + r, i = b.request.rows[row];
    const double* masses = masses_for(b, tile, i, edited);
    const V none = hn::Set(d, b.no_direction[row]), farthest = hn::Set(d, b.farthest->gap);
    double* near = b.near + row * kTile;
    bool farther = false;
    ATTRACTOR_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) {
      const V half = hn::Mul(sums[r][v], hn::Set(d, 0.5));
      const V lost = hn::Add(none, hn::LoadU(d, b.columns.no_direction(tile) + v * lanes));
      const V gap = hn::IfThenElse(hn::Gt(lost, hn::Zero(d)), hn::Set(d, 1.0), half);
      const V mass = hn::LoadU(d, masses + v * lanes);
      const V within = hn::IfThenElseZero(hn::Le(gap, hn::Set(d, b.request.near_gap)), mass);
      hn::StoreU(hn::Add(hn::LoadU(d, near + v * lanes), within), d, near + v * lanes);
      farther = farther || !hn::AllFalse(d, hn::Gt(gap, farthest));
      hn::StoreU(gap, d, gaps + v * lanes);
    }
    if (farther) keep_farthest(b, i, tile, gaps, masses);
    if (b.request.histogram) count_bins(gaps, masses, b.found[row]);
  }
}

void read_block(const PairBlock& b) {
  const std::size_t count = b.request.rows.size();
  const std::size_t from = b.request.upper ? b.request.rows[0] / kTile : 0;
  for (std::size_t tile = from; tile < b.columns.tiles(); ++tile) {
    std::size_t row = 0;
    for (; row + kRowsTogether <= count; row += kRowsTogether)
      read_tile<kRowsTogether>(b, tile, row);
    for (; row < count; ++row) read_tile<1>(b, tile, row);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace attractor::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attractor::kernels {
HWY_EXPORT(read_block);

std::size_t gap_bin(double gap) {
  const double position = (2 - gap) * (kGapBins / 2.0) + kEdgeMissed;
  if (!(position > 0)) return 0;
  return std::min(kGapBins - 1, static_cast<std::size_t>(position));
}

PairColumns::PairColumns(std::span<const double> directions, std::size_t dim,
                         std::span<const double> masses)
    : dim_(dim),
      masses_((masses.size() + kTile - 1) / kTile * kTile, 0.0),
      points_(masses_.size() * dim) {
  const std::size_t n = masses.size();
  assert(directions.size() == n * dim);
  if (n > 0)
    std::fill_n(&points_[(n - 1) / kTile * dim * kTile], dim * kTile, 0.0);  // the last tile
  zero_.resize(masses_.size());
  std::copy(masses.begin(), masses.end(), masses_.begin());
  for (std::size_t i = 0; i < n; ++i) {
    double largest = 0;
    for (std::size_t a = 0; a < dim; ++a) {
      const double x = directions[i * dim + a];
      points_[(i / kTile * dim + a) * kTile + i % kTile] = x;
      largest = std::max(largest, x < 0 ? -x : x);
    }
    zero_[i] = largest == 0 ? 1 : 0;
  }
}

void pair_rows(const PairColumns& columns, const PairRowsRequest& request, std::span<PairRow> found,
               FarthestPair& farthest) {
  const std::size_t count = request.rows.size(), dim = columns.dim();
  assert(count <= kMostPairRows && found.size() == count);
  if (count == 0) return;
  std::vector<double> points(count * dim);
  std::array<double, kMostPairRows> no_direction{};
  std::array<double, kMostPairRows * PairColumns::kTile> near{};
  for (std::size_t r = 0; r < count; ++r) {
    for (std::size_t a = 0; a < dim; ++a) points[r * dim + a] = columns.at(request.rows[r], a);
    no_direction[r] = columns.has_direction(request.rows[r]) ? 0 : 1;
  }
  HWY_DYNAMIC_DISPATCH(read_block)
  ({columns, request, points.data(), no_direction.data(), found.data(), &farthest, near.data()});
  for (std::size_t r = 0; r < count; ++r)
    for (std::size_t lane = 0; lane < PairColumns::kTile; ++lane)
      found[r].near += near[r * PairColumns::kTile + lane];
}

void pair_rows_reference(const PairColumns& columns, const PairRowsRequest& request,
                         std::span<PairRow> found, FarthestPair& farthest) {
  for (std::size_t j = 0; j < columns.tiles() * PairColumns::kTile; ++j)
    for (std::size_t r = 0; r < request.rows.size(); ++r) {
      const std::size_t i = request.rows[r];
      const double mass = columns.masses(0)[j];
      if (mass == 0 || j == i || (request.upper && j < i)) continue;
      double gap = 0;
      for (std::size_t a = 0; a < columns.dim(); ++a) {
        const double apart = columns.at(i, a) - columns.at(j, a);
        gap += apart * apart;
      }
      gap = columns.has_direction(i) && columns.has_direction(j) ? gap / 2 : 1;
      if (gap <= request.near_gap) found[r].near += mass;
      if (request.histogram) found[r].bins[gap_bin(gap)] += mass;
      if (gap > farthest.gap) farthest = {gap, i, j};
    }
}

}  // namespace attractor::kernels
#endif  // HWY_ONCE
