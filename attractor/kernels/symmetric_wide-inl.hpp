// Symmetric rows for many coordinates: weights of eight rows against a range of columns, then
// their pulls, lanes over the coordinates.
//
// A strip (8 rows, 16 columns) whose tokens are all at least 1/4 apart is "far": there |x - y|^2 =
// |x|^2 + |y|^2 - 2 <x, y> and sum_j w_j (x_j - x_i) = sum_j w_j x_j - (sum_j w_j) x_i lose nothing
// that matters (each term keeps a relative error of 8 roundings) and spare the subtractions. Near
// strips work with differences throughout.
#if defined(ATTRACTOR_KERNELS_SYMMETRIC_WIDE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTRACTOR_KERNELS_SYMMETRIC_WIDE_INL
#undef ATTRACTOR_KERNELS_SYMMETRIC_WIDE_INL
#else
#define ATTRACTOR_KERNELS_SYMMETRIC_WIDE_INL
#endif

#include <algorithm>
#include <cmath>

#include "attractor/kernels/symmetric_fused-inl.hpp"
#include "attractor/kernels/symmetric_job.hpp"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace attractor::kernels {
namespace HWY_NAMESPACE {

constexpr double kFar = 1.0 / 16;                               // squared distance
constexpr std::size_t kRowOfWeights = kColumnsMost + 8;         // + 8: rows in different cache sets
constexpr std::size_t kTileRows = HWY_MAX_BYTES == 64 ? 8 : 4;  // what the registers hold

struct WideRows {
  HWY_ALIGN double squared[8][kStrip];  // of the strip in hand
  HWY_ALIGN double w[8][kRowOfWeights];
  HWY_ALIGN double column[kColumnsMost];                     // far strips: sum of w over the rows
  HWY_ALIGN double weight[2][8][kParts], moment[8][kParts];  // weight of near and of far strips
  double far_weight[8];
  bool far[kColumnsMost / kStrip];
};

// Squared distances of rows i.. to 2 vectors of columns j.., of which `strip` holds the points.
template <bool kDifferences>
HWY_INLINE void tile_squares(const SymmetricJob& job, std::size_t i, std::size_t j,
                             const double* strip, double* out, V& least) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  V sum[kTileRows][2];
  for (auto& row : sum) row[0] = row[1] = hn::Zero(d);
  for (std::size_t begin = 0; begin < job.dim; begin += 8) {
    const double* rows = job.points + job.at(i, begin / 8);
    const std::size_t count = std::min<std::size_t>(8, job.dim - begin);
    for (std::size_t a = 0; a < count; ++a, strip += kStrip) {
      const V x0 = hn::Load(d, strip), x1 = hn::Load(d, strip + lanes);
      for (std::size_t r = 0; r < kTileRows; ++r) {
        const V y = hn::Set(d, rows[r * 8 + a]);
        const V s0 = kDifferences ? hn::Sub(x0, y) : x0, s1 = kDifferences ? hn::Sub(x1, y) : x1;
        sum[r][0] = hn::MulAdd(s0, kDifferences ? s0 : y, sum[r][0]);
        sum[r][1] = hn::MulAdd(s1, kDifferences ? s1 : y, sum[r][1]);
      }
    }
  }
  for (std::size_t r = 0; r < kTileRows; ++r)
    for (std::size_t h = 0; h < 2; ++h) {
      V s = sum[r][h];
      if constexpr (!kDifferences) {
        const V lengths =
            hn::Add(hn::Set(d, job.lengths[i + r]), hn::Load(d, job.lengths + j + h * lanes));
        s = hn::NegMulAdd(hn::Set(d, 2.0), s, lengths);
      }
      least = hn::Min(least, s);
      hn::Store(s, d, out + r * kStrip + h * lanes);
    }
}

// Fills block.squared for rows i.. and the strip of columns j..; whether the strip is far.
template <bool kDifferences>
HWY_INLINE bool strip_squares(const SymmetricJob& job, std::size_t i, std::size_t j,
                              WideRows& block) {
  const D d;
  V least = hn::Set(d, HUGE_VAL);
  for (std::size_t r = 0; r < 8; r += kTileRows)
    for (std::size_t c = 0; c < kStrip; c += 2 * hn::Lanes(d))
      tile_squares<kDifferences>(job, i + r, j + c, job.strips + j * job.dim + c,
                                 block.squared[r] + c, least);
  return hn::AllTrue(d, hn::Ge(least, hn::Set(d, kFar)));
}

// Weights from block.squared; those go to block.w from column `slot` on.
template <bool kPlain, bool kMasked>
HWY_INLINE void strip_weights(const SymmetricJob& job, std::size_t i, std::size_t j,
                              std::size_t slot, bool far, WideRows& block) {
  const D d;
  const auto add = [&](double* sum, V term)
                       HWY_ATTR { hn::Store(hn::Add(hn::Load(d, sum), term), d, sum); };
  for (std::size_t c = 0; c < kStrip; c += hn::Lanes(d)) {
    V column = hn::Zero(d), moment = hn::Zero(d);
    for (std::size_t r = 0; r < 8; ++r) {
      const V squared = hn::Load(d, block.squared[r] + c);
      const V w = pair_weight<kPlain>(job, squared, i + r, j + c, kMasked);
      hn::Store(w, d, block.w[r] + slot + c);
      add(block.weight[far][r] + c % kParts, w);
      column = hn::Add(column, w);
      if constexpr (!kPlain) {
        const V part = hn::Mul(w, squared);
        add(block.moment[r] + c % kParts, part);
        moment = hn::Add(moment, part);
      }
    }
    hn::Store(column, d, block.column + slot + c);
    add(job.weight + j + c, column);
    if constexpr (!kPlain) add(job.moment + j + c, moment);
  }
}

// Pulls between kTileRows rows i.. (from `row` of the eight on) and one strip of columns, for one
// vector of coordinates: x and f are the points and pulls of the rows.
template <bool kIsFar>
HWY_INLINE void strip_pulls(const WideRows& block, std::size_t row, std::size_t slot,
                            const double* points, double* pull, const V* x, V* f) {
  const D d;
  for (std::size_t t = 0; t < 8; ++t) {
    const V y = hn::Load(d, points + 8 * t);
    V g = hn::Load(d, pull + 8 * t);
    if (kIsFar && row == 0) g = hn::NegMulAdd(hn::Set(d, block.column[slot + t]), y, g);
    for (std::size_t r = 0; r < kTileRows; ++r) {
      const V w = hn::Set(d, block.w[row + r][slot + t]);
      const V step = kIsFar ? y : hn::Sub(y, x[r]);
      f[r] = hn::MulAdd(w, step, f[r]);
      g = kIsFar ? hn::MulAdd(w, x[r], g) : hn::NegMulAdd(w, step, g);
    }
    hn::Store(g, d, pull + 8 * t);
  }
}

HWY_INLINE void panel_pulls(const SymmetricJob& job, std::size_t i, Range columns,
                            const WideRows& block, std::size_t row, std::size_t offset) {
  const D d;
  V x[kTileRows], f[kTileRows];
  for (std::size_t r = 0; r < kTileRows; ++r) {
    x[r] = hn::Load(d, job.points + job.at(i + row + r, 0) + offset);
    f[r] = hn::Zero(d);
  }
  for (std::size_t j = columns.begin; j < columns.end; j += 8) {
    const double* points = job.points + job.at(j, 0) + offset;
    double* pull = job.pull + job.at(j, 0) + offset;
    const std::size_t slot = j - columns.begin;
    if (block.far[slot / kStrip])
      strip_pulls<true>(block, row, slot, points, pull, x, f);
    else
      strip_pulls<false>(block, row, slot, points, pull, x, f);
  }
  for (std::size_t r = 0; r < kTileRows; ++r) {
    double* own = job.pull + job.at(i + row + r, 0) + offset;
    f[r] = hn::NegMulAdd(hn::Set(d, block.far_weight[row + r]), x[r], f[r]);
    hn::Store(hn::Add(hn::Load(d, own), f[r]), d, own);
  }
}

template <bool kPlain>
void wide_weights(const SymmetricJob& job, std::size_t i, Range columns, WideRows& block) {
  std::fill_n(block.weight[0][0], 2 * 8 * kParts, 0.0);
  std::fill_n(block.moment[0], 8 * kParts, 0.0);
  bool far = true;  // tokens of a cluster are often neighbours: expect what the last strip was
  for (std::size_t j = columns.begin; j < columns.end; j += kStrip) {
    const std::size_t slot = j - columns.begin;
    if (far) far = strip_squares<false>(job, i, j, block);
    if (!far) far = strip_squares<true>(job, i, j, block);
    block.far[slot / kStrip] = far;
    if (j < i + 8 || j + kStrip > job.n || i + 8 > job.n)
      strip_weights<kPlain, true>(job, i, j, slot, far, block);
    else
      strip_weights<kPlain, false>(job, i, j, slot, far, block);
  }
  for (std::size_t r = 0; r < 8; ++r) {
    block.far_weight[r] = sum_of_parts(block.weight[1][r]);
    job.weight[i + r] += sum_of_parts(block.weight[0][r]) + block.far_weight[r];
    if constexpr (!kPlain) job.moment[i + r] += sum_of_parts(block.moment[r]);
  }
}

template <bool kPlain>
void wide_tile(const SymmetricJob& job, Range rows, Range columns) {
  const D d;
  WideRows block;
  for (std::size_t i = rows.begin; i < rows.end; i += 8) {
    const Range seen{std::max(columns.begin, i / kStrip * kStrip), columns.end};
    if (seen.begin >= seen.end) break;
    wide_weights<kPlain>(job, i, seen, block);
    if (!job.wants_pull) continue;
    for (std::size_t row = 0; row < 8; row += kTileRows)
      for (std::size_t panel = 0; panel < job.panels; ++panel)
        for (std::size_t a = 0; a < 8; a += hn::Lanes(d))
          panel_pulls(job, i, seen, block, row, panel * 64 + a);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace attractor::kernels
HWY_AFTER_NAMESPACE();

#endif
