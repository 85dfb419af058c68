#include "attractor/kernels/logit_panels.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "attractor/base/threads.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attractor/kernels/logit_panels.cpp"
// Arrays of vectors below: scalable vectors (SVE, RVV) cannot be stored in them.
#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#endif
#include "hwy/foreach_target.h"
// After foreach_target.
#include "attractor/kernels/exp-inl.hpp"
#include "hwy/aligned_allocator.h"
#include "hwy/highway.h"

#ifndef ATTRACTOR_KERNELS_PANELS_JOB
#define ATTRACTOR_KERNELS_PANELS_JOB
namespace attractor::kernels {

constexpr std::size_t kPanelRows = 12, kPanelStrip = 16, kPanelColumns = 256;
constexpr std::size_t kPanelParts = 8;  // sums over j are kept in parts j mod 8 on every target

struct PanelsJob {
  std::size_t dim, padded_dim, n, padded, chunk, panel;
  double beta;
  const double* queries;
  const double* strips;  // keys [padded/16][dim][16]
  const double* values;  // [padded_dim/8][panel], of which [padded][8] are used
  const double* masses;  // [padded], 0 beyond n
  const std::uint32_t* rows;
  const RowSums* out;
  std::size_t row(std::size_t k) const { return rows ? rows[k] : k; }
};

// Twelve rows at work: their queries [dim][12], values and pulls [12][padded_dim].
struct PanelScratch {
  std::size_t index[kPanelRows];
  double peak[kPanelRows], weight[kPanelRows], moment[kPanelRows];
  double *queries, *values, *pull;
  double* w;  // [12][kPanelStride]: logits, then weights
};
constexpr std::size_t kPanelStride = kPanelColumns + 8;  // + 8: rows in different cache sets

}  // namespace attractor::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace attractor::kernels {
namespace HWY_NAMESPACE {

using D = hn::ScalableTag<double>;
using V = hn::Vec<D>;
constexpr std::size_t kTileRows = HWY_MAX_BYTES == 64 ? 12 : 4;  // what the registers hold
constexpr double kEighthsOfE = 8 * 1.4426950408889634;

// Logits of twelve rows with one strip of keys; rows of `out` lie `stride` apart.
HWY_INLINE void strip_logits(const PanelsJob& job, const double* queries, const double* strip,
                             double* out, std::size_t stride) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const V beta = hn::Set(d, job.beta);
  for (std::size_t r0 = 0; r0 < kPanelRows; r0 += kTileRows)
    for (std::size_t c = 0; c < kPanelStrip; c += 2 * lanes) {
      V sum[kTileRows][2];
      for (auto& row : sum) row[0] = row[1] = hn::Zero(d);
      for (std::size_t a = 0; a < job.dim; ++a) {
        const V x0 = hn::Load(d, strip + a * kPanelStrip + c);
        const V x1 = hn::Load(d, strip + a * kPanelStrip + c + lanes);
        for (std::size_t r = 0; r < kTileRows; ++r) {
          const V y = hn::Set(d, queries[a * kPanelRows + r0 + r]);
          sum[r][0] = hn::MulAdd(x0, y, sum[r][0]);
          sum[r][1] = hn::MulAdd(x1, y, sum[r][1]);
        }
      }
      for (std::size_t r = 0; r < kTileRows; ++r)
        for (std::size_t h = 0; h < 2; ++h)
          hn::Store(hn::Mul(beta, sum[r][h]), d, out + (r0 + r) * stride + c + h * lanes);
    }
}

void chunk_logits(const PanelsJob& job, std::size_t begin, std::size_t end, PanelScratch& s) {
  constexpr double kNone = -std::numeric_limits<double>::infinity();
  for (std::size_t j = begin; j < end; j += kPanelStrip)
    strip_logits(job, s.queries, job.strips + j * job.dim, s.w + (j - begin), kPanelStride);
  for (std::size_t r = 0; r < kPanelRows; ++r) {  // neither the token itself nor the padding
    double* logits = s.w + r * kPanelStride;
    if (s.index[r] >= begin && s.index[r] < end) logits[s.index[r] - begin] = kNone;
    for (std::size_t j = std::max(begin, job.n); j < end; ++j) logits[j - begin] = kNone;
  }
}

// A larger logit appeared: bring the sums so far to the new peak.
void raise_peak(const PanelsJob& job, std::size_t r, std::size_t count, PanelScratch& s) {
  const D d;
  V most = hn::Set(d, s.peak[r]);
  for (std::size_t c = 0; c < count; c += hn::Lanes(d))
    most = hn::Max(most, hn::Load(d, s.w + r * kPanelStride + c));
  const double peak = hn::GetLane(hn::MaxOfLanes(d, most));
  if (peak == s.peak[r]) return;
  const double factor = std::exp(s.peak[r] - peak);
  s.peak[r] = peak;
  s.weight[r] *= factor;
  s.moment[r] *= factor;
  for (std::size_t a = 0; a < job.padded_dim; ++a) s.pull[r * job.padded_dim + a] *= factor;
}

HWY_INLINE double sum_of_parts(const double* p) {
  return ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
}

// Logits of one row become weights, and their sums.
template <bool kMoment>
void row_weights(const PanelsJob& job, std::size_t r, std::size_t begin, std::size_t count,
                 PanelScratch& s) {
  const D d;
  HWY_ALIGN double weight[kPanelParts] = {}, moment[kPanelParts] = {};
  const V peak = hn::Set(d, s.peak[r]), least = hn::Set(d, -708.0);
  double* logits = s.w + r * kPanelStride;
  for (std::size_t lane = 0; lane < kPanelParts; lane += hn::Lanes(d)) {
    V weights = hn::Zero(d), moments = hn::Zero(d);
    for (std::size_t c = lane; c < count; c += kPanelParts) {
      const V logit = hn::Load(d, logits + c), below = hn::Sub(logit, peak);
      const auto counts = hn::Gt(below, least);
      V w = exp2_eighths(d, below, hn::Set(d, kEighthsOfE));
      w = hn::IfThenElseZero(counts, hn::Mul(w, hn::Load(d, job.masses + begin + c)));
      hn::Store(w, d, logits + c);
      weights = hn::Add(weights, w);
      if (kMoment) moments = hn::MulAdd(w, hn::IfThenElseZero(counts, logit), moments);
    }
    hn::Store(weights, d, weight + lane);
    hn::Store(moments, d, moment + lane);
  }
  s.weight[r] += sum_of_parts(weight);
  s.moment[r] += sum_of_parts(moment);
}

// Pulls of kTileRows rows from `row` on, one vector of coordinates from `a` on.
HWY_INLINE void tile_pulls(const PanelsJob& job, std::size_t row, std::size_t a, std::size_t begin,
                           std::size_t count, PanelScratch& s) {
  const D d;
  V own[kTileRows], pull[kTileRows];
  for (std::size_t r = 0; r < kTileRows; ++r) {
    own[r] = hn::Load(d, s.values + (row + r) * job.padded_dim + a);
    pull[r] = hn::Load(d, s.pull + (row + r) * job.padded_dim + a);
  }
  const double* values = job.values + a / 8 * job.panel + begin * 8 + a % 8;
  const double* weights = s.w + row * kPanelStride;
  for (std::size_t c = 0; c < count; ++c) {
    const V y = hn::Load(d, values + c * 8);
    for (std::size_t r = 0; r < kTileRows; ++r) {
      const V w = hn::Set(d, weights[r * kPanelStride + c]);
      pull[r] = hn::MulAdd(w, hn::Sub(y, own[r]), pull[r]);
    }
  }
  for (std::size_t r = 0; r < kTileRows; ++r)
    hn::Store(pull[r], d, s.pull + (row + r) * job.padded_dim + a);
}

void chunk_sums(const PanelsJob& job, std::size_t begin, std::size_t end, PanelScratch& s) {
  const D d;
  const std::size_t count = end - begin;
  chunk_logits(job, begin, end, s);
  for (std::size_t r = 0; r < kPanelRows; ++r) {
    raise_peak(job, r, count, s);
    if (job.out->moment.empty())
      row_weights<false>(job, r, begin, count, s);
    else
      row_weights<true>(job, r, begin, count, s);
  }
  if (job.out->pull.empty()) return;
  for (std::size_t row = 0; row < kPanelRows; row += kTileRows)
    for (std::size_t a = 0; a < job.padded_dim; a += hn::Lanes(d))
      tile_pulls(job, row, a, begin, count, s);
}

void load_rows(const PanelsJob& job, std::size_t k, std::size_t end, PanelScratch& s) {
  std::fill_n(s.pull, kPanelRows * job.padded_dim, 0.0);
  for (std::size_t r = 0; r < kPanelRows; ++r) {
    const std::size_t i = job.row(std::min(k + r, end - 1));
    s.index[r] = i;
    s.peak[r] = std::numeric_limits<double>::lowest();
    s.weight[r] = s.moment[r] = 0;
    for (std::size_t a = 0; a < job.dim; ++a)
      s.queries[a * kPanelRows + r] = job.queries[i * job.dim + a];
    for (std::size_t a = 0; a < job.padded_dim; a += 8)
      std::copy_n(job.values + a / 8 * job.panel + i * 8, 8, s.values + r * job.padded_dim + a);
  }
}

void store_rows(const PanelsJob& job, std::size_t k, std::size_t end, const PanelScratch& s) {
  for (std::size_t r = 0; r < std::min(kPanelRows, end - k); ++r) {
    job.out->weight[k + r] = s.weight[r];
    job.out->peak[k + r] = s.peak[r];
    if (!job.out->moment.empty()) job.out->moment[k + r] = s.moment[r];
    if (!job.out->pull.empty())
      std::copy_n(s.pull + r * job.padded_dim, job.dim, &job.out->pull[(k + r) * job.dim]);
  }
}

// Rows [begin, end) of the list, a few groups of twelve at a time against one chunk of columns, so
// that a chunk is read from the second cache.
void panels_job(const PanelsJob& job, std::size_t begin, std::size_t end) {
  constexpr std::size_t kGroups = 8;
  const std::size_t size = kPanelRows * 3 * job.padded_dim;
  auto memory = hwy::AllocateAligned<double>(kGroups * size + kPanelRows * kPanelStride);
  PanelScratch group[kGroups];
  for (std::size_t first = begin; first < end; first += kGroups * kPanelRows) {
    const std::size_t groups = std::min(kGroups, (end - first + kPanelRows - 1) / kPanelRows);
    for (std::size_t g = 0; g < groups; ++g) {
      double* at = memory.get() + g * size;
      group[g].queries = at;
      group[g].values = at + kPanelRows * job.padded_dim;
      group[g].pull = at + kPanelRows * 2 * job.padded_dim;
      group[g].w = memory.get() + kGroups * size;
      load_rows(job, first + g * kPanelRows, end, group[g]);
    }
    for (std::size_t j = 0; j < job.padded; j += job.chunk)
      for (std::size_t g = 0; g < groups; ++g)
        chunk_sums(job, j, std::min(job.padded, j + job.chunk), group[g]);
    for (std::size_t g = 0; g < groups; ++g) store_rows(job, first + g * kPanelRows, end, group[g]);
  }
}

// <q_i, k_j> for rows [begin, end) and all n keys.
void products_job(const PanelsJob& job, std::size_t begin, std::size_t end, double* out) {
  auto memory = hwy::AllocateAligned<double>(kPanelRows * (job.padded_dim + job.padded));
  double *queries = memory.get(), *products = queries + kPanelRows * job.padded_dim;
  for (std::size_t k = begin; k < end; k += kPanelRows) {
    for (std::size_t r = 0; r < kPanelRows; ++r)
      for (std::size_t a = 0; a < job.dim; ++a)
        queries[a * kPanelRows + r] = job.queries[std::min(k + r, end - 1) * job.dim + a];
    for (std::size_t j = 0; j < job.padded; j += kPanelStrip)
      strip_logits(job, queries, job.strips + j * job.dim, products + j, job.padded);
    for (std::size_t r = 0; r < std::min(kPanelRows, end - k); ++r)
      std::copy_n(products + r * job.padded, job.n, out + (k + r) * job.n);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace attractor::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attractor::kernels {

HWY_EXPORT(panels_job);
HWY_EXPORT(products_job);

namespace {

using Aligned = hwy::AlignedFreeUniquePtr<double[]>;

std::size_t padded_to(std::size_t multiple, std::size_t count) {
  return (count + multiple - 1) / multiple * multiple;
}

// Rows as strips [padded/16][dim][16], zero beyond the last.
Aligned in_strips(std::span<const double> rows, std::size_t dim) {
  const std::size_t n = rows.size() / dim, padded = padded_to(kPanelStrip, n);
  Aligned strips = hwy::AllocateAligned<double>(padded * dim);
  parallel_for(padded, 32 * kPanelStrip, [&](std::size_t begin, std::size_t end) {
    for (std::size_t j = begin; j < end; ++j)
      for (std::size_t a = 0; a < dim; ++a)
        strips[(j / kPanelStrip * dim + a) * kPanelStrip + j % kPanelStrip] =
            j < n ? rows[j * dim + a] : 0;
  });
  return strips;
}

// Rows as panels of eight coordinates, `panel` numbers apart.
Aligned in_panels(std::span<const double> rows, std::size_t dim, std::size_t padded,
                  std::size_t panel) {
  const std::size_t n = rows.size() / dim, padded_dim = padded_to(8, dim);
  Aligned panels = hwy::AllocateAligned<double>(padded_dim / 8 * panel);
  parallel_for(padded, 32 * kPanelStrip, [&](std::size_t begin, std::size_t end) {
    for (std::size_t j = begin; j < end; ++j)
      for (std::size_t a = 0; a < padded_dim; ++a)
        panels[a / 8 * panel + j * 8 + a % 8] = j < n && a < dim ? rows[j * dim + a] : 0;
  });
  return panels;
}

}  // namespace

bool logit_panels_apply(const LogitSources& in) { return in.dim >= 8 && in.masses.size() >= 32; }

void logit_panels(const LogitSources& in, std::span<const std::uint32_t> rows, const RowSums& out) {
  const std::size_t n = in.masses.size(), dim = in.dim, count = rows.empty() ? n : rows.size();
  assert(in.queries.size() == n * dim && out.weight.size() == count && out.peak.size() == count);
  const std::size_t padded = padded_to(kPanelStrip, n);
  const std::size_t chunk =
      std::clamp<std::size_t>(49152 / dim / kPanelStrip * kPanelStrip, 32, kPanelColumns);
  const std::size_t panel = (padded + chunk) * 8;  // + chunk: panels in different cache sets
  const Aligned strips = in_strips(in.keys, dim);
  const Aligned values = in_panels(in.values, dim, padded, panel);
  const Aligned masses = hwy::AllocateAligned<double>(padded);
  std::fill(std::copy_n(in.masses.begin(), n, masses.get()), masses.get() + padded, 0.0);
  const PanelsJob job{.dim = dim,
                      .padded_dim = padded_to(8, dim),
                      .n = n,
                      .padded = padded,
                      .chunk = chunk,
                      .panel = panel,
                      .beta = in.beta,
                      .queries = in.queries.data(),
                      .strips = strips.get(),
                      .values = values.get(),
                      .masses = masses.get(),
                      .rows = rows.empty() ? nullptr : rows.data(),
                      .out = &out};
  parallel_for(count, 8 * kPanelRows, [&](std::size_t begin, std::size_t end) {
    HWY_DYNAMIC_DISPATCH(panels_job)(job, begin, end);
  });
}

void row_products(std::span<const double> rows, std::span<const double> matrix, std::size_t dim,
                  std::span<double> out) {
  const std::size_t count = rows.size() / dim, n = matrix.size() / dim;
  assert(out.size() == count * n);
  const Aligned strips = in_strips(matrix, dim);
  const PanelsJob job{.dim = dim,
                      .padded_dim = padded_to(8, dim),
                      .n = n,
                      .padded = padded_to(kPanelStrip, n),
                      .beta = 1,
                      .queries = rows.data(),
                      .strips = strips.get()};
  parallel_for(count, 8 * kPanelRows, [&](std::size_t begin, std::size_t end) {
    HWY_DYNAMIC_DISPATCH(products_job)(job, begin, end, out.data());
  });
}

}  // namespace attractor::kernels
#endif  // HWY_ONCE
