#include "attractor/kernels/dense/attention_rows.hpp"

#include <algorithm>
#include <cassert>
#include <limits>
#include <vector>

#include "attractor/base/numbers.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/kernels/dense/logit_lanes.hpp"
#include "attractor/kernels/dense/logit_panels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attractor/kernels/dense/attention_rows.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.
#include "attractor/kernels/exp-inl.hpp"
#include "hwy/aligned_allocator.h"
#include "hwy/highway.h"

// One job for every target: rows [begin, end) of the list.
#ifndef ATTRACTOR_KERNELS_ROWS_JOB
#define ATTRACTOR_KERNELS_ROWS_JOB
namespace attractor::kernels {
struct RowsJob {
  std::size_t dim, sources;
  const double *left, *right, *values;  // logit operands of targets and sources; values
  const double* masses;
  double beta, shift;
  const std::uint32_t* rows;  // null: all
  const RowSums* out;
  std::size_t row(std::size_t k) const { return rows ? rows[k] : k; }
};
}  // namespace attractor::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace attractor::kernels {
namespace HWY_NAMESPACE {

using D = hn::ScalableTag<double>;
using V = hn::Vec<D>;
constexpr std::size_t kTile = 8;  // sources taken together: independent chains for the FMA units

// The targets of one block, one per lane; dimension-major scratch.
struct Block {
  std::size_t lanes, begin, count;
  std::size_t first, last;  // tokens of the block lie within
  double* left;             // dim x lanes
  double* values;           // dim x lanes
  double* pull;             // dim x lanes
  double* index;            // lanes: token number of each lane
};

void load_block(const RowsJob& job, Block& block) {
  block.first = block.last = job.row(block.begin);
  for (std::size_t lane = 0; lane < block.lanes; ++lane) {
    const std::size_t i = job.row(block.begin + std::min(lane, block.count - 1));
    block.first = std::min(block.first, i);
    block.last = std::max(block.last, i);
    block.index[lane] = static_cast<double>(i);
    for (std::size_t a = 0; a < job.dim; ++a) {
      block.left[a * block.lanes + lane] = job.left[i * job.dim + a];
      block.values[a * block.lanes + lane] = job.values[i * job.dim + a];
      block.pull[a * block.lanes + lane] = 0;
    }
  }
}

// Whether sources j.. of a tile may include a target of the block, or the padding.
bool touches(const RowsJob& job, const Block& block, std::size_t j) {
  return (j <= block.last && j + kTile > block.first) || j + kTile > job.sources;
}

template <bool kDistance, int kDim>
HWY_INLINE void tile_logits(const RowsJob& job, const Block& block, const double* const* source,
                            V* logit) {
  const D d;
  const std::size_t dim = kDim > 0 ? kDim : job.dim;
  V sum[kTile];
  for (std::size_t t = 0; t < kTile; ++t) sum[t] = hn::Zero(d);
  for (std::size_t a = 0; a < dim; ++a) {
    const V x = hn::Load(d, block.left + a * block.lanes);
    for (std::size_t t = 0; t < kTile; ++t) {
      const V y = hn::Set(d, source[t][a]);
      if constexpr (kDistance) {
        const V difference = hn::Sub(y, x);
        sum[t] = hn::MulAdd(difference, difference, sum[t]);
      } else {
        sum[t] = hn::MulAdd(x, y, sum[t]);
      }
    }
  }
  const V factor = hn::Set(d, kDistance ? -0.5 * job.beta : job.beta);
  const V shift = hn::Set(d, kDistance ? job.shift : 0.0);
  for (std::size_t t = 0; t < kTile; ++t) logit[t] = hn::MulAdd(factor, sum[t], shift);
}

template <int kDim>
HWY_INLINE void tile_pull(const RowsJob& job, const Block& block, const std::size_t* j,
                          const V* weight) {
  const D d;
  const std::size_t dim = kDim > 0 ? kDim : job.dim;
  const double* value[kTile];
  for (std::size_t t = 0; t < kTile; ++t) value[t] = job.values + j[t] * job.dim;
  for (std::size_t a = 0; a < dim; ++a) {
    const V own = hn::Load(d, block.values + a * block.lanes);
    V pull = hn::Load(d, block.pull + a * block.lanes);
    for (std::size_t t = 0; t < kTile; ++t)
      pull = hn::MulAdd(weight[t], hn::Sub(hn::Set(d, value[t][a]), own), pull);
    hn::Store(pull, d, block.pull + a * block.lanes);
  }
}

// A larger logit appeared: bring the sums so far to the new peak.
HWY_INLINE void raise_peak(const RowsJob& job, const Block& block, const V* logit, V& peak,
                           V& weight, V& moment) {
  const D d;
  V higher = peak;
  for (std::size_t t = 0; t < kTile; ++t) higher = hn::Max(higher, logit[t]);
  if (hn::AllTrue(d, hn::Eq(higher, peak))) return;
  const V factor = exp_bounded(d, hn::Sub(peak, higher));
  weight = hn::Mul(weight, factor);
  moment = hn::Mul(moment, factor);
  for (std::size_t a = 0; a < job.dim; ++a) {
    double* at = block.pull + a * block.lanes;
    hn::Store(hn::Mul(hn::Load(d, at), factor), d, at);
  }
  peak = higher;
}

void store_block(const RowsJob& job, const Block& block, V peak, V weight, V moment) {
  const D d;
  HWY_ALIGN double buffer[hn::MaxLanes(D())];
  const auto put = [&](V sums, std::span<double> out) HWY_ATTR {
    if (out.empty()) return;
    hn::Store(sums, d, buffer);
    std::copy_n(buffer, block.count, out.begin() + static_cast<std::ptrdiff_t>(block.begin));
  };
  put(weight, job.out->weight);
  put(moment, job.out->moment);
  put(peak, job.out->peak);
  if (job.out->pull.empty()) return;
  for (std::size_t k = 0; k < block.count; ++k)
    for (std::size_t a = 0; a < job.dim; ++a)
      job.out->pull[(block.begin + k) * job.dim + a] = block.pull[a * block.lanes + k];
}

// A lifted logit may have either sign; one below the peak may not, and allows the shorter way.
template <bool kDistance>
HWY_INLINE V row_weight(V logit) {
  const D d;
  if constexpr (kDistance) return exp_bounded(d, logit);
  const V w = exp2_steps(d, logit, hn::Set(d, 8 * 1.4426950408889634));
  return hn::IfThenElseZero(hn::Gt(logit, hn::Set(d, -708.0)), w);
}

template <bool kDistance, int kDim>
void block_rows(const RowsJob& job, const Block& block) {
  const D d;
  const V none = hn::Set(d, -kInfinity);
  const V index = hn::Load(d, block.index);
  const bool wants_pull = !job.out->pull.empty(), wants_moment = !job.out->moment.empty();
  V peak = kDistance ? hn::Zero(d) : hn::Set(d, std::numeric_limits<double>::lowest());
  V weight = hn::Zero(d), moment = hn::Zero(d);
  for (std::size_t begin = 0; begin < job.sources; begin += kTile) {
    std::size_t j[kTile];
    const double* source[kTile];
    V logit[kTile], w[kTile];
    for (std::size_t t = 0; t < kTile; ++t) {
      j[t] = std::min(begin + t, job.sources - 1);
      source[t] = job.right + j[t] * job.dim;
    }
    tile_logits<kDistance, kDim>(job, block, source, logit);
    if (touches(job, block, begin)) {  // leave out the token itself, and the padding
      for (std::size_t t = 0; t < kTile; ++t) {
        const bool padded = begin + t >= job.sources;
        const V own = padded ? index : hn::Set(d, static_cast<double>(j[t]));
        logit[t] = hn::IfThenElse(hn::Eq(index, own), none, logit[t]);
      }
    }
    if constexpr (!kDistance) raise_peak(job, block, logit, peak, weight, moment);
    for (std::size_t t = 0; t < kTile; ++t) {
      w[t] = hn::Mul(hn::Set(d, job.masses[j[t]]), row_weight<kDistance>(hn::Sub(logit[t], peak)));
      weight = hn::Add(weight, w[t]);
    }
    if (wants_moment) {
      for (std::size_t t = 0; t < kTile; ++t) {
        const V finite = hn::IfThenElse(hn::Eq(logit[t], none), hn::Zero(d), logit[t]);
        moment = hn::MulAdd(w[t], finite, moment);
      }
    }
    if (wants_pull) tile_pull<kDim>(job, block, j, w);
  }
  store_block(job, block, peak, weight, moment);
}

template <bool kDistance>
void rows_of(const RowsJob& job, std::size_t begin, std::size_t end) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  auto scratch = hwy::AllocateAligned<double>((3 * job.dim + 1) * lanes);
  double* at = scratch.get();
  const std::size_t size = job.dim * lanes;
  Block block{.lanes = lanes,
              .left = at,
              .values = at + size,
              .pull = at + 2 * size,
              .index = at + 3 * size};
  for (block.begin = begin; block.begin < end; block.begin += lanes) {
    block.count = std::min(lanes, end - block.begin);
    load_block(job, block);
    switch (job.dim) {
      case 2:
        block_rows<kDistance, 2>(job, block);
        break;
      case 3:
        block_rows<kDistance, 3>(job, block);
        break;
      case 4:
        block_rows<kDistance, 4>(job, block);
        break;
      default:
        block_rows<kDistance, 0>(job, block);
    }
  }
}

void distance_job(const RowsJob& job, std::size_t begin, std::size_t end) {
  rows_of<true>(job, begin, end);
}
void logit_job(const RowsJob& job, std::size_t begin, std::size_t end) {
  rows_of<false>(job, begin, end);
}

}  // namespace HWY_NAMESPACE
}  // namespace attractor::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attractor::kernels {

HWY_EXPORT(distance_job);
HWY_EXPORT(logit_job);

namespace {

// Rows a thread takes at once: enough work (about 50 microseconds) to hide the hand-over.
std::size_t grain(std::size_t sources, std::size_t dim) {
  const double pair_ns = 1.0 + 0.25 * static_cast<double>(dim);
  const double rows = 50e3 / (pair_ns * static_cast<double>(sources));
  return std::max<std::size_t>(16, static_cast<std::size_t>(rows) / 16 * 16);
}

}  // namespace

void distance_rows(const DistanceSources& in, std::span<const std::uint32_t> rows,
                   const RowSums& out) {
  const std::size_t n = in.masses.size(), count = rows.empty() ? n : rows.size();
  assert(in.points.size() == n * in.dim && out.weight.size() == count);
  const double* values = in.values.empty() ? in.points.data() : in.values.data();
  const RowsJob job{in.dim,
                    n,
                    in.points.data(),
                    in.points.data(),
                    values,
                    in.masses.data(),
                    in.beta,
                    in.shift,
                    rows.empty() ? nullptr : rows.data(),
                    &out};
  parallel_for(count, grain(n, in.dim), [&](std::size_t begin, std::size_t end) {
    HWY_DYNAMIC_DISPATCH(distance_job)(job, begin, end);
  });
}

void logit_rows(const LogitSources& in, std::span<const std::uint32_t> rows, const RowSums& out,
                Precision precision) {
  if (logit_lanes_apply(in, precision)) return logit_lanes(in, rows, out, precision);
  if (logit_panels_apply(in, precision)) return logit_panels(in, rows, out, precision);
  const std::size_t n = in.masses.size(), count = rows.empty() ? n : rows.size();
  assert(in.queries.size() == n * in.dim && out.weight.size() == count && out.peak.size() == count);
  const RowsJob job{in.dim,
                    n,
                    in.queries.data(),
                    in.keys.data(),
                    in.values.data(),
                    in.masses.data(),
                    in.beta,
                    0.0,
                    rows.empty() ? nullptr : rows.data(),
                    &out};
  parallel_for(count, grain(n, in.dim), [&](std::size_t begin, std::size_t end) {
    HWY_DYNAMIC_DISPATCH(logit_job)(job, begin, end);
  });
}

}  // namespace attractor::kernels
#endif  // HWY_ONCE
