// The loops of logit_panels.cpp, for T = double or float; sums of more than 256 terms are doubles.
//
// sum_j w_j (y_j - y) over a chunk of sources is taken as sum_j w_j y_j - (sum_j w_j) y, which
// spares the subtractions. Where it is less than a quarter of what was subtracted (tokens near each
// other), it is summed again in differences; so a row loses two bits of its terms at most. A row
// expects what it met in its last chunk. Nothing in this depends on the other rows of its group.
#if defined(ATTRACTOR_KERNELS_LOGIT_PANELS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTRACTOR_KERNELS_LOGIT_PANELS_INL
#undef ATTRACTOR_KERNELS_LOGIT_PANELS_INL
#else
#define ATTRACTOR_KERNELS_LOGIT_PANELS_INL
#endif

#include <algorithm>
#include <cmath>
#include <limits>

#include "attractor/base/scratch.hpp"
#include "attractor/kernels/dense/logit_panels_job.hpp"
#include "attractor/kernels/exp-inl.hpp"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace attractor::kernels {
namespace HWY_NAMESPACE {

constexpr std::size_t kTileRows = HWY_MAX_BYTES == 64 ? 12 : 4;  // what the registers hold
constexpr std::size_t kAheadSteps = 4;

// What the next loops read, fetched to the second cache by this one: a little every few steps, so
// that the third cache or memory is never waited for.
struct Ahead {
  const char* from;
  std::size_t stride;  // bytes, every kAheadSteps steps

  HWY_INLINE void fetch(std::size_t step) const {
    __builtin_prefetch(from + step / kAheadSteps * stride, 0, 2);
  }
};

// Part `part` of `parts` of the `count` numbers from `first` on, in so many steps.
template <class T>
Ahead ahead_of(const T* first, std::size_t count, std::size_t part, std::size_t parts,
               std::size_t steps) {
  const std::size_t bytes = count * sizeof(T) / parts;
  return {reinterpret_cast<const char*>(first) + part * bytes,
          bytes / std::max<std::size_t>(1, steps / kAheadSteps)};
}

// Coordinates [begin, end) of the logits of twelve rows with one strip of keys, added to those
// before; rows of `out` lie `stride` apart.
template <class T>
HWY_NOINLINE void strip_logits(std::size_t begin, std::size_t end, const T* queries, const T* strip,
                               T* out, std::size_t stride,
                               Ahead ahead) {  // alone it has registers enough
  const Tag<T> d;
  using V = Vector<T>;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t r0 = 0; r0 < kPanelRows; r0 += kTileRows)
    for (std::size_t c = 0; c < kPanelStrip<T>; c += 2 * lanes) {
      V sum[kTileRows][2];
      ATTRACTOR_UNROLL
      for (std::size_t r = 0; r < kTileRows; ++r) {
        const T* from = out + (r0 + r) * stride + c;
        sum[r][0] = begin ? hn::LoadU(d, from) : hn::Zero(d);
        sum[r][1] = begin ? hn::LoadU(d, from + lanes) : hn::Zero(d);
      }
      const auto add = [&](std::size_t a) HWY_ATTR {
        const V x0 = hn::Load(d, strip + a * kPanelStrip<T> + c);
        const V x1 = hn::Load(d, strip + a * kPanelStrip<T> + c + lanes);
        ATTRACTOR_UNROLL
        for (std::size_t r = 0; r < kTileRows; ++r) {
          const V y = hn::Set(d, queries[a * kPanelRows + r0 + r]);
          sum[r][0] = hn::MulAdd(x0, y, sum[r][0]);
          sum[r][1] = hn::MulAdd(x1, y, sum[r][1]);
        }
      };
      std::size_t a = begin;
      for (; a + kAheadSteps <= end; a += kAheadSteps) {
        ahead.fetch(a - begin);
        for (std::size_t b = 0; b < kAheadSteps; ++b) add(a + b);
      }
      for (; a < end; ++a) add(a);
      ATTRACTOR_UNROLL
      for (std::size_t r = 0; r < kTileRows; ++r) {
        T* to = out + (r0 + r) * stride + c;
        hn::StoreU(sum[r][0], d, to);
        hn::StoreU(sum[r][1], d, to + lanes);
      }
    }
}

// Neither the token itself nor the padding counts.
template <class T>
void leave_out(const PanelsJob<T>& job, std::size_t r, std::size_t begin, std::size_t end,
               PanelScratch<T>& s) {
  constexpr T kNone = -std::numeric_limits<T>::infinity();
  T* logits = s.w + r * kPanelStride<T>;
  if (s.index[r] >= begin && s.index[r] < end) logits[s.index[r] - begin] = kNone;
  for (std::size_t j = std::max(begin, job.n); j < end; ++j) logits[j - begin] = kNone;
}

// A larger logit appeared: bring the sums so far to the new peak.
template <class T>
void raise_peak(const PanelsJob<T>& job, std::size_t r, std::size_t count, PanelScratch<T>& s) {
  const Tag<T> d;
  Vector<T> most = hn::Set(d, s.peak[r]);
  for (std::size_t c = 0; c < count; c += hn::Lanes(d))
    most = hn::Max(most, hn::Load(d, s.w + r * kPanelStride<T> + c));
  const T peak = hn::GetLane(hn::MaxOfLanes(d, most));
  if (peak == s.peak[r]) return;
  const double steps = static_cast<double>(s.peak[r]) - static_cast<double>(peak);
  const double factor = std::exp2(steps / static_cast<double>(kSteps<T>));
  s.peak[r] = peak;
  s.weight[r] *= factor;
  s.moment[r] *= factor;
  for (std::size_t a = 0; a < job.padded_dim; ++a) s.pull[r * job.padded_dim + a] *= factor;
}

// Logits of one row become weights, and their sums.
template <bool kMoment, bool kEven, class T>
void row_weights(const PanelsJob<T>& job, std::size_t r, std::size_t begin, std::size_t count,
                 PanelScratch<T>& s) {
  const Tag<T> d;
  using V = Vector<T>;
  HWY_ALIGN T weight[kLine<T>] = {}, moment[kLine<T>] = {};
  const V peak = hn::Set(d, s.peak[r]);
  const V least = hn::Set(d, kSteps<T> * T(sizeof(T) == 8 ? -1021 : -125));
  T* logits = s.w + r * kPanelStride<T>;
  for (std::size_t lane = 0; lane < kLine<T>; lane += hn::Lanes(d)) {
    V weights = hn::Zero(d), moments = hn::Zero(d);
    for (std::size_t c = lane; c < count; c += kLine<T>) {
      const V logit = hn::Load(d, logits + c), below = hn::Sub(logit, peak);
      const auto counts = hn::Gt(below, least);
      V w = exp2_steps(d, below);
      if (!kEven) w = hn::Mul(w, hn::Load(d, job.masses + begin + c));
      w = hn::IfThenElseZero(counts, w);
      hn::Store(w, d, logits + c);
      weights = hn::Add(weights, w);
      if (kMoment) moments = hn::MulAdd(w, hn::IfThenElseZero(counts, logit), moments);
    }
    hn::Store(weights, d, weight + lane);
    hn::Store(moments, d, moment + lane);
  }
  s.recent[r] = sum_of_parts(weight);
  s.weight[r] += s.recent[r];
  s.moment[r] += sum_of_parts(moment);
}

// Sums of w (y - own) if kDifferences, else of w y, over a chunk: kTileRows rows from `row` on,
// kVectors vectors of coordinates from `a` on.
template <bool kDifferences, std::size_t kVectors, class T>
HWY_NOINLINE void tile_sums(const PanelsJob<T>& job, std::size_t row, std::size_t a,
                            std::size_t begin, std::size_t count, PanelScratch<T>& s, Ahead ahead) {
  const Tag<T> d;
  using V = Vector<T>;
  const T* values[kVectors];
  V own[kTileRows][kVectors], sum[kTileRows][kVectors];
  ATTRACTOR_UNROLL
  for (std::size_t h = 0; h < kVectors; ++h) {
    const std::size_t at = a + h * hn::Lanes(d);
    values[h] = job.values + at / kLine<T> * job.panel + begin * kLine<T> + at % kLine<T>;
    ATTRACTOR_UNROLL
    for (std::size_t r = 0; r < kTileRows; ++r) {
      if (kDifferences) own[r][h] = hn::Load(d, s.values + (row + r) * job.padded_dim + at);
      sum[r][h] = hn::Zero(d);
    }
  }
  const T* weights = s.w + row * kPanelStride<T>;
  const auto add = [&](std::size_t c) HWY_ATTR {
    V y[kVectors];
    ATTRACTOR_UNROLL
    for (std::size_t h = 0; h < kVectors; ++h) y[h] = hn::Load(d, values[h] + c * kLine<T>);
    ATTRACTOR_UNROLL
    for (std::size_t r = 0; r < kTileRows; ++r) {
      const V w = hn::Set(d, weights[r * kPanelStride<T> + c]);
      ATTRACTOR_UNROLL
      for (std::size_t h = 0; h < kVectors; ++h)
        sum[r][h] = hn::MulAdd(w, kDifferences ? hn::Sub(y[h], own[r][h]) : y[h], sum[r][h]);
    }
  };
  static_assert(kPanelStrip<T> % kAheadSteps == 0);  // as are the columns
  for (std::size_t c = 0; c < count; c += kAheadSteps) {
    ahead.fetch(c);
    for (std::size_t b = 0; b < kAheadSteps; ++b) add(c + b);
  }
  ATTRACTOR_UNROLL
  for (std::size_t r = 0; r < kTileRows; ++r) ATTRACTOR_UNROLL
  for (std::size_t h = 0; h < kVectors; ++h)
    hn::Store(sum[r][h], d, s.sums + (row + r) * job.padded_dim + a + h * hn::Lanes(d));
}

// Adds the sums of a chunk to the pull of row r; whether they would do, or did, without
// differences.
template <bool kDifferences, class T>
bool add_pull(const PanelsJob<T>& job, std::size_t r, PanelScratch<T>& s) {
  const Tag<T> d;
  const std::size_t at = r * job.padded_dim;
  const Vector<T> minus = hn::Set(d, kDifferences ? T(0) : static_cast<T>(s.recent[r]));
  constexpr std::size_t kHalves = kLine<T> / hn::MaxLanes(Tag<T>());
  Vector<T> squared[kHalves];
  for (std::size_t h = 0; h < kHalves; ++h) squared[h] = hn::Zero(d);
  for (std::size_t a = 0; a < job.padded_dim; a += kLine<T>) ATTRACTOR_UNROLL
  for (std::size_t h = 0; h < kHalves; ++h) {
    T* sum = s.sums + at + a + h * hn::Lanes(d);
    const Vector<T> own = hn::Load(d, s.values + at + a + h * hn::Lanes(d));
    const Vector<T> pull = hn::NegMulAdd(minus, own, hn::Load(d, sum));
    squared[h] = hn::MulAdd(pull, pull, squared[h]);
    hn::Store(pull, d, sum);
  }
  HWY_ALIGN T parts[kLine<T>];
  for (std::size_t h = 0; h < kHalves; ++h) hn::Store(squared[h], d, parts + h * hn::Lanes(d));
  const double taken = 0.25 * s.recent[r] * job.longest;
  const bool apart = sum_of_parts(parts) >= taken * taken;
  if (apart || kDifferences)
    for (std::size_t a = 0; a < job.padded_dim; a += hn::Lanes(d))
      add_to(s.pull + at + a, hn::Load(d, s.sums + at + a));
  return apart;
}

// Pulls of all rows that are near, or of all that are not.
template <bool kDifferences, class T>
void chunk_pulls(const PanelsJob<T>& job, std::size_t begin, std::size_t count,
                 PanelScratch<T>* group, std::size_t groups) {
  const std::size_t lanes = hn::Lanes(Tag<T>());
  constexpr std::size_t kVectors = kDifferences ? 1 : 2;  // what the registers hold
  const auto asked = [](const PanelScratch<T>& s) {
    return std::find(s.near, s.near + kPanelRows, kDifferences) != s.near + kPanelRows;
  };
  // The panels of the next coordinates come meanwhile, or the first keys of the next chunk.
  constexpr std::size_t kTiles = kPanelRows / kTileRows;
  constexpr std::size_t kPanels =
      std::max<std::size_t>(1, kVectors * hn::MaxLanes(Tag<T>()) / kLine<T>);
  const std::size_t tiles = groups * kTiles, each = (tiles + kPanels - 1) / kPanels;
  const T* keys = job.strips + (begin + count < job.padded ? begin + count : 0) * job.dim;
  for (std::size_t a = 0; a < job.padded_dim; a += kVectors * lanes) {
    const std::size_t next = (a + kVectors * lanes) / kLine<T>;
    for (std::size_t tile = 0; tile < tiles; ++tile) {
      const std::size_t g = tile / kTiles, row = tile % kTiles * kTileRows;
      const std::size_t panel = next + tile / each;
      const T* values = job.values + panel * job.panel + begin * kLine<T>;
      const Ahead ahead = ahead_of(panel * kLine<T> < job.padded_dim ? values : keys,
                                   count * kLine<T>, tile % each, each, count);
      if (!asked(group[g])) continue;
      if (a + kVectors * lanes <= job.padded_dim)
        tile_sums<kDifferences, kVectors>(job, row, a, begin, count, group[g], ahead);
      else
        tile_sums<kDifferences, 1>(job, row, a, begin, count, group[g], ahead);
    }
  }
  for (std::size_t g = 0; g < groups; ++g)
    for (std::size_t r = 0; r < kPanelRows; ++r)
      if (group[g].near[r] == kDifferences)
        group[g].near[r] = !add_pull<kDifferences>(job, r, group[g]);
}

// Columns [begin, end) for all groups of rows. A strip of keys, then a panel of values, serves all
// groups while it is in the first cache: a chunk is read from memory once for all of them.
template <class T>
void chunk_sums(const PanelsJob<T>& job, std::size_t begin, std::size_t end, PanelScratch<T>* group,
                std::size_t groups) {
  const std::size_t count = end - begin;
  for (std::size_t a = 0; a < job.dim; a += kPanelDepth) {
    const std::size_t last = std::min(job.dim, a + kPanelDepth);
    for (std::size_t j = begin; j < end; j += kPanelStrip<T>) {
      const T* strip = job.strips + j * job.dim;
      const T* next = j + kPanelStrip<T> < end ? strip + kPanelStrip<T> * (job.dim + a)
                      : last < job.dim ? job.strips + begin * job.dim + kPanelStrip<T> * last
                                       : job.values + begin * kLine<T>;
      for (std::size_t g = 0; g < groups; ++g)
        strip_logits(a, last, group[g].queries, strip, group[g].w + (j - begin), kPanelStride<T>,
                     ahead_of(next, (last - a) * kPanelStrip<T>, g, groups, last - a));
    }
  }
  for (std::size_t g = 0; g < groups; ++g)
    for (std::size_t r = 0; r < kPanelRows; ++r) {
      leave_out(job, r, begin, end, group[g]);
      raise_peak(job, r, count, group[g]);
      if (!job.out->moment.empty())
        row_weights<true, false>(job, r, begin, count, group[g]);
      else if (!job.even)
        row_weights<false, false>(job, r, begin, count, group[g]);
      else
        row_weights<false, true>(job, r, begin, count, group[g]);
    }
  if (job.out->pull.empty()) return;
  chunk_pulls<false>(job, begin, count, group, groups);
  chunk_pulls<true>(job, begin, count, group, groups);
}

// Queries k.. of the list, those from `end` on like the one before it, as [dim][12].
template <class T>
void load_queries(const PanelsJob<T>& job, std::size_t k, std::size_t end, T* queries) {
  for (std::size_t r = 0; r < kPanelRows; ++r) {
    const double* query = job.queries + job.row(std::min(k + r, end - 1)) * job.dim;
    for (std::size_t a = 0; a < job.dim; ++a)
      queries[a * kPanelRows + r] = static_cast<T>(job.factor * query[a]);
  }
}

template <class T>
void load_rows(const PanelsJob<T>& job, std::size_t k, std::size_t end, PanelScratch<T>& s) {
  std::fill_n(s.pull, kPanelRows * job.padded_dim, 0.0);
  load_queries(job, k, end, s.queries);
  for (std::size_t r = 0; r < kPanelRows; ++r) {
    const std::size_t i = job.row(std::min(k + r, end - 1));
    s.index[r] = i;
    s.peak[r] = std::numeric_limits<T>::lowest();
    s.weight[r] = s.moment[r] = 0;
    s.near[r] = false;
    for (std::size_t a = 0; a < job.padded_dim; a += kLine<T>)
      std::copy_n(job.values + a / kLine<T> * job.panel + i * kLine<T>, kLine<T>,
                  s.values + r * job.padded_dim + a);
  }
}

template <class T>
void store_rows(const PanelsJob<T>& job, std::size_t k, std::size_t end, const PanelScratch<T>& s) {
  for (std::size_t r = 0; r < std::min(kPanelRows, end - k); ++r) {
    const double logit = 1 / kLogitSteps<T>;
    job.out->weight[k + r] = job.unit * s.weight[r];
    job.out->peak[k + r] = logit * static_cast<double>(s.peak[r]);
    if (!job.out->moment.empty()) job.out->moment[k + r] = job.unit * logit * s.moment[r];
    if (job.out->pull.empty()) continue;
    for (std::size_t a = 0; a < job.dim; ++a)
      job.out->pull[(k + r) * job.dim + a] = job.unit * s.pull[r * job.padded_dim + a];
  }
}

// Rows [begin, end) of the list, a few groups of twelve at a time.
template <class T>
void panel_rows(const PanelsJob<T>& job, std::size_t begin, std::size_t end) {
  const std::size_t size = kPanelRows * job.padded_dim, weights = kPanelRows * kPanelStride<T>;
  const Scratch<double> pulls(kPanelGroups * size);
  const Scratch<T> memory(kPanelGroups * (3 * size + weights));
  PanelScratch<T> group[kPanelGroups];
  for (std::size_t first = begin; first < end; first += kPanelGroups * kPanelRows) {
    const std::size_t groups = std::min(kPanelGroups, (end - first + kPanelRows - 1) / kPanelRows);
    for (std::size_t g = 0; g < groups; ++g) {
      group[g].queries = memory.get() + g * size;
      group[g].values = memory.get() + (kPanelGroups + g) * size;
      group[g].sums = memory.get() + (2 * kPanelGroups + g) * size;
      group[g].w = memory.get() + 3 * kPanelGroups * size + g * weights;
      group[g].pull = pulls.get() + g * size;
      load_rows(job, first + g * kPanelRows, end, group[g]);
    }
    for (std::size_t j = 0; j < job.padded; j += job.chunk)
      chunk_sums(job, j, std::min(job.padded, j + job.chunk), group, groups);
    for (std::size_t g = 0; g < groups; ++g) store_rows(job, first + g * kPanelRows, end, group[g]);
  }
}

// <q_i, k_j> for rows [begin, end) and all n keys.
template <class T>
void product_rows(const PanelsJob<T>& job, std::size_t begin, std::size_t end, double* out) {
  HWY_ALIGN T tile[kPanelGroups][kPanelRows * kPanelStrip<T>];
  const std::size_t size = kPanelRows * job.padded_dim;
  const Scratch<T> queries(kPanelGroups * size);
  for (std::size_t first = begin; first < end; first += kPanelGroups * kPanelRows) {
    const std::size_t last = std::min(end, first + kPanelGroups * kPanelRows);
    const std::size_t groups = (last - first + kPanelRows - 1) / kPanelRows;
    for (std::size_t g = 0; g < groups; ++g)
      load_queries(job, first + g * kPanelRows, end, queries.get() + g * size);
    for (std::size_t j = 0; j < job.n; j += kPanelStrip<T>) {
      const T* strip = job.strips + j * job.dim;
      const T* next = job.strips + (j + kPanelStrip<T>) % job.padded * job.dim;
      for (std::size_t a = 0; a < job.dim; a += kPanelDepth) {
        const std::size_t stop = std::min(job.dim, a + kPanelDepth);
        for (std::size_t g = 0; g < groups; ++g)
          strip_logits(a, stop, queries.get() + g * size, strip, tile[g], kPanelStrip<T>,
                       ahead_of(next + a * kPanelStrip<T>, (stop - a) * kPanelStrip<T>, g, groups,
                                stop - a));
      }
      const std::size_t columns = std::min(kPanelStrip<T>, job.n - j);
      for (std::size_t k = first; k < last; ++k)
        for (std::size_t c = 0; c < columns; ++c)
          out[k * job.n + j + c] = static_cast<double>(
              tile[(k - first) / kPanelRows][(k - first) % kPanelRows * kPanelStrip<T> + c]);
    }
  }
}

void panels_job(const PanelsJob<double>& job, std::size_t begin, std::size_t end) {
  panel_rows(job, begin, end);
}
void single_panels_job(const PanelsJob<float>& job, std::size_t begin, std::size_t end) {
  panel_rows(job, begin, end);
}
void products_job(const PanelsJob<double>& job, std::size_t begin, std::size_t end, double* out) {
  product_rows(job, begin, end, out);
}
void single_products_job(const PanelsJob<float>& job, std::size_t begin, std::size_t end,
                         double* out) {
  product_rows(job, begin, end, out);
}

}  // namespace HWY_NAMESPACE
}  // namespace attractor::kernels
HWY_AFTER_NAMESPACE();

#endif
