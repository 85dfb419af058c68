// Symmetric rows for many coordinates: weights of eight rows against a range of columns, then
// their pulls, lanes over the coordinates.
//
// A strip (8 rows, kStrip columns) whose tokens are all at least 1/4 apart is "far": there
// |x - y|^2 = |x|^2 + |y|^2 - 2 <x, y> and sum_j w_j (x_j - x_i) = sum_j w_j x_j - (sum_j w_j) x_i
// lose nothing that matters (each term keeps a relative error of 8 roundings) and spare the
// subtractions. Near strips work with differences throughout.
#if defined(ATTRACTOR_KERNELS_SYMMETRIC_WIDE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTRACTOR_KERNELS_SYMMETRIC_WIDE_INL
#undef ATTRACTOR_KERNELS_SYMMETRIC_WIDE_INL
#else
#define ATTRACTOR_KERNELS_SYMMETRIC_WIDE_INL
#endif

#include <algorithm>
#include <cmath>

#include "attractor/kernels/dense/symmetric_fused-inl.hpp"
#include "attractor/kernels/dense/symmetric_job.hpp"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace attractor::kernels {
namespace HWY_NAMESPACE {

constexpr double kFar = 1.0 / 16;                               // squared distance
constexpr std::size_t kTileRows = HWY_MAX_BYTES == 64 ? 8 : 4;  // what the registers hold
// Columns of a tile of pulls: each pull is a chain over the rows, and one alone would be waited
// for.
constexpr std::size_t kTileColumns = HWY_MAX_BYTES == 64 ? 4 : 2;

template <class T>
struct WideRows {
  HWY_ALIGN T exponent[8][kStrip<T>];          // of the strip in hand
  HWY_ALIGN T w[8][kColumnsMost + kParts<T>];  // + kParts: rows in different cache sets
  HWY_ALIGN T column[kColumnsMost];            // sum of w over all rows so far, far strips only
  HWY_ALIGN T weight[2][8][kParts<T>], moment[8][kParts<T>];  // weight of near and of far strips
  double far_weight[8];
  bool far[kColumnsMost / kStrip<T>];
  T* rows;  // [dim][8] coordinates times -2 factor
};

// Exponents of rows i + r.. with 2 vectors of columns j.., of which `strip` holds the points.
template <bool kDifferences, class T>
HWY_INLINE void tile_exponents(const SymmetricJob<T>& job, const WideRows<T>& block, std::size_t i,
                               std::size_t r0, std::size_t j, const T* strip, T* out,
                               Vector<T>& most) {
  const Tag<T> d;
  using V = Vector<T>;
  const std::size_t lanes = hn::Lanes(d);
  V sum[kTileRows][2];
  ATTRACTOR_UNROLL
  for (std::size_t r = 0; r < kTileRows; ++r) ATTRACTOR_UNROLL
  for (std::size_t h = 0; h < 2; ++h)
    sum[r][h] = kDifferences ? hn::Zero(d)
                             : hn::Add(hn::Set(d, job.lengths[i + r0 + r]),
                                       hn::Load(d, job.lengths + j + h * lanes));
  if constexpr (kDifferences) {
    for (std::size_t a = 0; a < job.dim; ++a, strip += kStrip<T>) {
      const T* row = job.points + job.at(i + r0, a / kParts<T>) + a % kParts<T>;
      const V x0 = hn::Load(d, strip), x1 = hn::Load(d, strip + lanes);
      ATTRACTOR_UNROLL
      for (std::size_t r = 0; r < kTileRows; ++r) {
        const V y = hn::Set(d, row[r * kParts<T>]), s0 = hn::Sub(x0, y), s1 = hn::Sub(x1, y);
        sum[r][0] = hn::MulAdd(s0, s0, sum[r][0]);
        sum[r][1] = hn::MulAdd(s1, s1, sum[r][1]);
      }
    }
  } else {
    const T* row = block.rows + r0;
    for (std::size_t a = 0; a < job.dim; ++a, strip += kStrip<T>, row += 8) {
      const V x0 = hn::Load(d, strip), x1 = hn::Load(d, strip + lanes);
      ATTRACTOR_UNROLL
      for (std::size_t r = 0; r < kTileRows; ++r) {
        const V y = hn::Set(d, row[r]);
        sum[r][0] = hn::MulAdd(x0, y, sum[r][0]);
        sum[r][1] = hn::MulAdd(x1, y, sum[r][1]);
      }
    }
  }
  ATTRACTOR_UNROLL
  for (std::size_t r = 0; r < kTileRows; ++r) ATTRACTOR_UNROLL
  for (std::size_t h = 0; h < 2; ++h) {
    const V s = kDifferences ? hn::Mul(hn::Set(d, job.factor), sum[r][h]) : sum[r][h];
    most = hn::Max(most, s);
    hn::Store(s, d, out + r * kStrip<T> + h * lanes);
  }
}

// Fills block.exponent for rows i.. and the strip of columns j..; whether the strip is far.
template <bool kDifferences, class T>
HWY_INLINE bool strip_exponents(const SymmetricJob<T>& job, std::size_t i, std::size_t j,
                                WideRows<T>& block) {
  const Tag<T> d;
  Vector<T> most = hn::Set(d, static_cast<T>(-HUGE_VAL));
  for (std::size_t r = 0; r < 8; r += kTileRows)
    for (std::size_t c = 0; c < kStrip<T>; c += 2 * hn::Lanes(d))
      tile_exponents<kDifferences>(job, block, i, r, j + c, job.strips + j * job.dim + c,
                                   block.exponent[r] + c, most);
  return hn::AllTrue(d, hn::Lt(most, hn::Set(d, static_cast<T>(kFar) * job.factor)));
}

// Weights from block.exponent; those go to block.w from column `slot` on.
template <bool kPlain, bool kMasked, class T>
HWY_INLINE void strip_weights(const SymmetricJob<T>& job, const Columns<T>& out, std::size_t i,
                              std::size_t j, std::size_t slot, bool far, WideRows<T>& block) {
  const Tag<T> d;
  using V = Vector<T>;
  const auto add = [&](T* sum, V term)
                       HWY_ATTR { hn::Store(hn::Add(hn::Load(d, sum), term), d, sum); };
  for (std::size_t c = 0; c < kStrip<T>; c += hn::Lanes(d)) {
    V column = hn::Zero(d), moment = hn::Zero(d);
    ATTRACTOR_UNROLL
    for (std::size_t r = 0; r < 8; ++r) {
      const V exponent = hn::Load(d, block.exponent[r] + c);
      const auto counts = hn::Gt(exponent, hn::Set(d, job.lowest));
      const V w = pair_weight<kPlain>(job, exp2_steps(d, exponent), counts, i + r, j + c, kMasked);
      hn::Store(w, d, block.w[r] + slot + c);
      add(block.weight[far][r] + c % kParts<T>, w);
      column = hn::Add(column, w);
      if constexpr (!kPlain) {
        const V part = hn::Mul(w, exponent);
        add(block.moment[r] + c % kParts<T>, part);
        moment = hn::Add(moment, part);
      }
    }
    if (far) add(block.column + slot + c, column);
    add(out.weight + j + c - out.origin, column);
    if constexpr (!kPlain) add(out.moment + j + c - out.origin, moment);
  }
}

// Pulls between kTileRows rows (from `row` of the eight on) and eight columns, for one vector of
// coordinates: x and f are the points and pulls of the rows.
template <bool kIsFar, class T>
HWY_INLINE void strip_pulls(const WideRows<T>& block, std::size_t row, std::size_t slot,
                            const T* points, T* pull, const Vector<T>* x, Vector<T>* f) {
  const Tag<T> d;
  using V = Vector<T>;
  for (std::size_t t0 = 0; t0 < 8; t0 += kTileColumns) {
    V y[kTileColumns], g[kTileColumns];
    ATTRACTOR_UNROLL
    for (std::size_t t = 0; t < kTileColumns; ++t) {
      y[t] = hn::Load(d, points + kParts<T> * (t0 + t));
      g[t] = hn::Load(d, pull + kParts<T> * (t0 + t));
    }
    ATTRACTOR_UNROLL
    for (std::size_t r = 0; r < kTileRows; ++r) ATTRACTOR_UNROLL
    for (std::size_t t = 0; t < kTileColumns; ++t) {
      const V w = hn::Set(d, block.w[row + r][slot + t0 + t]);
      const V step = kIsFar ? y[t] : hn::Sub(y[t], x[r]);
      f[r] = hn::MulAdd(w, step, f[r]);
      g[t] = kIsFar ? hn::MulAdd(w, x[r], g[t]) : hn::NegMulAdd(w, step, g[t]);
    }
    ATTRACTOR_UNROLL
    for (std::size_t t = 0; t < kTileColumns; ++t) hn::Store(g[t], d, pull + kParts<T> * (t0 + t));
  }
}

template <class T>
HWY_INLINE void panel_pulls(const SymmetricJob<T>& job, const Columns<T>& out, std::size_t i,
                            Range columns, std::size_t slot, const WideRows<T>& block,
                            std::size_t row, std::size_t panel, std::size_t a) {
  const Tag<T> d;
  Vector<T> x[kTileRows], f[kTileRows];
  ATTRACTOR_UNROLL
  for (std::size_t r = 0; r < kTileRows; ++r) {
    x[r] = hn::Load(d, job.points + job.at(i + row + r, panel) + a);
    f[r] = hn::Zero(d);
  }
  for (std::size_t j = columns.begin; j < columns.end; j += 8, slot += 8) {
    const T* points = job.points + job.at(j, panel) + a;
    T* pull = out.pull + job.at(j - out.origin, panel) + a;
    if (block.far[slot / kStrip<T>])
      strip_pulls<true>(block, row, slot, points, pull, x, f);
    else
      strip_pulls<false>(block, row, slot, points, pull, x, f);
  }
  ATTRACTOR_UNROLL
  for (std::size_t r = 0; r < kTileRows; ++r) {
    const Vector<T> far_weight = hn::Set(d, static_cast<T>(block.far_weight[row + r]));
    add_to(job.pull + job.at(i + row + r, panel) + a, hn::NegMulAdd(far_weight, x[r], f[r]));
  }
}

// Weights of rows i.. and columns seen.., which begin at `slot` of the block.
template <bool kPlain, class T>
void wide_weights(const SymmetricJob<T>& job, const Columns<T>& out, std::size_t i, Range seen,
                  std::size_t slot, WideRows<T>& block) {
  std::fill_n(block.weight[0][0], 2 * 8 * kParts<T>, T(0));
  std::fill_n(block.moment[0], 8 * kParts<T>, T(0));
  for (std::size_t a = 0; a < job.dim; ++a) {
    const T* row = job.points + job.at(i, a / kParts<T>) + a % kParts<T>;
    for (std::size_t r = 0; r < 8; ++r)
      block.rows[a * 8 + r] = -2 * job.factor * row[r * kParts<T>];
  }
  bool far = true;  // tokens of a cluster are often neighbours: expect what the last strip was
  for (std::size_t j = seen.begin; j < seen.end; j += kStrip<T>, slot += kStrip<T>) {
    if (far) far = strip_exponents<false>(job, i, j, block);
    if (!far) far = strip_exponents<true>(job, i, j, block);
    block.far[slot / kStrip<T>] = far;
    if (j < i + 8 || j + kStrip < T >> job.n || i + 8 > job.n)
      strip_weights<kPlain, true>(job, out, i, j, slot, far, block);
    else
      strip_weights<kPlain, false>(job, out, i, j, slot, far, block);
  }
  for (std::size_t r = 0; r < 8; ++r) {
    block.far_weight[r] = sum_of_parts(block.weight[1][r]);
    job.weight[i + r] += sum_of_parts(block.weight[0][r]) + block.far_weight[r];
    if constexpr (!kPlain) job.moment[i + r] += sum_of_parts(block.moment[r]);
  }
}

// Sums of rows go to the job, those of columns to `out`, less what far strips leave for the end:
// column[j] times the point of column j.
template <bool kPlain, class T>
void wide_tile(const SymmetricJob<T>& job, Range rows, Range columns, const Columns<T>& out,
               WideRows<T>& block) {
  const Tag<T> d;
  std::fill_n(block.column, kColumnsMost, T(0));
  for (std::size_t i = rows.begin; i < rows.end; i += 8) {
    const Range seen{std::max(columns.begin, i / kStrip<T> * kStrip<T>), columns.end};
    if (seen.begin >= seen.end) break;
    const std::size_t slot = seen.begin - columns.begin;
    wide_weights<kPlain>(job, out, i, seen, slot, block);
    if (!job.wants_pull) continue;
    for (std::size_t row = 0; row < 8; row += kTileRows)
      for (std::size_t panel = 0; panel < job.panels; ++panel)
        for (std::size_t a = 0; a < kParts<T>; a += hn::Lanes(d))
          panel_pulls(job, out, i, seen, slot, block, row, panel, a);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace attractor::kernels
HWY_AFTER_NAMESPACE();

#endif
