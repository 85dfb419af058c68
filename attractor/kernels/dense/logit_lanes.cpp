#include "attractor/kernels/dense/logit_lanes.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <vector>

#include "attractor/base/threads.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attractor/kernels/dense/logit_lanes.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.
#include "attractor/kernels/exp-inl.hpp"
#include "hwy/highway.h"

// A thing for every target: the sums of row k, [dim pulls, weight, moment] `stride` apart, are of
// e^{l}; they leave relative to the peak.
#ifndef ATTRACTOR_KERNELS_LANES_STORE
#define ATTRACTOR_KERNELS_LANES_STORE
namespace attractor::kernels {

template <class T>
constexpr double step() {  // the logit of one step of exp-inl.hpp
  return 0.6931471805599453 / (sizeof(T) == 8 ? 8 : 16);
}

template <class T>
void store_lane(const LanesJob<T>& job, std::size_t k, double most, const double* sums,
                std::size_t stride) {
  const double peak = step<T>() * most;
  const double unit = std::exp(-peak) * (job.mass > 0 ? job.mass : 1);
  job.out->peak[k] = peak;
  job.out->weight[k] = unit * sums[job.dim * stride];
  if (!job.out->moment.empty())
    job.out->moment[k] = unit * step<T>() * sums[(job.dim + 1) * stride];
  if (job.out->pull.empty()) return;
  for (std::size_t a = 0; a < job.dim; ++a)
    job.out->pull[k * job.dim + a] = unit * sums[a * stride];
}

}  // namespace attractor::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace attractor::kernels {
namespace HWY_NAMESPACE {

// Vectors of rows side by side: one source serves them all.
constexpr std::size_t kLaneVectors = 2;

template <class T, int kDim, bool kMoment, bool kEven>
struct LaneRows {
  using V = Vector<T>;
  V query[kLaneVectors][kDim], own[kLaneVectors][kDim], index[kLaneVectors];
  V pull[kLaneVectors][kDim], weight[kLaneVectors], moment[kLaneVectors], most[kLaneVectors];

  HWY_INLINE void clear() {
    const Tag<T> d;
    ATTRACTOR_UNROLL
    for (std::size_t v = 0; v < kLaneVectors; ++v) {
      weight[v] = moment[v] = hn::Zero(d);
      ATTRACTOR_UNROLL
      for (int a = 0; a < kDim; ++a) pull[v][a] = hn::Zero(d);
    }
  }

  // Sources [begin, end); with kOwn some rows' own tokens may be among them.
  template <bool kOwn>
  HWY_INLINE void meet(const LanesJob<T>& job, std::size_t begin, std::size_t end) {
    const Tag<T> d;
    const V none = hn::Set(d, std::numeric_limits<T>::lowest());
    for (std::size_t j = begin; j < end; ++j) {
      const T* key = job.sources + j * job.stride;
      const V mass = kEven ? hn::Zero(d) : hn::Set(d, key[2 * kDim]);
      ATTRACTOR_UNROLL
      for (std::size_t v = 0; v < kLaneVectors; ++v) {
        V s = hn::Mul(query[v][0], hn::Set(d, key[0]));
        ATTRACTOR_UNROLL
        for (int a = 1; a < kDim; ++a) s = hn::MulAdd(query[v][a], hn::Set(d, key[a]), s);
        V w = exp2_steps(d, s);
        if constexpr (!kEven) w = hn::Mul(mass, w);
        if constexpr (kOwn) {
          const auto other = hn::Ne(index[v], hn::Set(d, static_cast<T>(j)));
          w = hn::IfThenElseZero(other, w);
          most[v] = hn::Max(most[v], hn::IfThenElse(other, s, none));
        } else {
          most[v] = hn::Max(most[v], s);
        }
        weight[v] = hn::Add(weight[v], w);
        if constexpr (kMoment) moment[v] = hn::MulAdd(w, s, moment[v]);
        ATTRACTOR_UNROLL
        for (int a = 0; a < kDim; ++a)
          pull[v][a] = hn::MulAdd(w, hn::Sub(hn::Set(d, key[kDim + a]), own[v][a]), pull[v][a]);
      }
    }
  }
};

template <class T, int kDim, bool kMoment, bool kEven>
void lanes_rows(const LanesJob<T>& job, std::size_t begin, std::size_t end) {
  const Tag<T> d;
  const std::size_t lanes = hn::Lanes(d), rows = kLaneVectors * lanes;
  constexpr std::size_t kMost = kLaneVectors * hn::MaxLanes(Tag<T>());
  HWY_ALIGN T buffer[2 * kDim + 1][kMost];
  HWY_ALIGN double sums[kDim + 2][kMost];
  HWY_ALIGN T peak[kMost];
  for (std::size_t k = begin; k < end; k += rows) {
    std::size_t first = job.n, last = 0;
    for (std::size_t r = 0; r < rows; ++r) {
      const std::size_t i = job.row(std::min(k + r, end - 1));
      first = std::min(first, i);
      last = std::max(last, i);
      buffer[2 * kDim][r] = static_cast<T>(i);
      ATTRACTOR_UNROLL
      for (int a = 0; a < kDim; ++a) {
        buffer[a][r] = static_cast<T>(job.scale * job.queries[i * kDim + a]);
        buffer[kDim + a][r] = job.sources[i * job.stride + kDim + a];
      }
    }
    LaneRows<T, kDim, kMoment, kEven> block;
    ATTRACTOR_UNROLL
    for (std::size_t v = 0; v < kLaneVectors; ++v) {
      ATTRACTOR_UNROLL
      for (int a = 0; a < kDim; ++a) {
        block.query[v][a] = hn::Load(d, buffer[a] + v * lanes);
        block.own[v][a] = hn::Load(d, buffer[kDim + a] + v * lanes);
      }
      block.index[v] = hn::Load(d, buffer[2 * kDim] + v * lanes);
      block.most[v] = hn::Set(d, std::numeric_limits<T>::lowest());
    }
    std::fill_n(sums[0], (kDim + 2) * kMost, 0.0);
    for (std::size_t j = 0; j < job.n; j += kLaneChunk) {
      const std::size_t stop = std::min(job.n, j + kLaneChunk);
      block.clear();
      if (last >= j && first < stop)
        block.template meet<true>(job, j, stop);
      else
        block.template meet<false>(job, j, stop);
      ATTRACTOR_UNROLL
      for (std::size_t v = 0; v < kLaneVectors; ++v) {
        ATTRACTOR_UNROLL
        for (int a = 0; a < kDim; ++a) add_to(sums[a] + v * lanes, block.pull[v][a]);
        add_to(sums[kDim] + v * lanes, block.weight[v]);
        if constexpr (kMoment) add_to(sums[kDim + 1] + v * lanes, block.moment[v]);
      }
    }
    ATTRACTOR_UNROLL
    for (std::size_t v = 0; v < kLaneVectors; ++v) hn::Store(block.most[v], d, peak + v * lanes);
    for (std::size_t r = 0; r < std::min(rows, end - k); ++r)
      store_lane(job, k + r, static_cast<double>(peak[r]), sums[0] + r, kMost);
  }
}

template <class T, int kDim>
void lanes_of(const LanesJob<T>& job, std::size_t begin, std::size_t end) {
  const bool moment = !job.out->moment.empty();
  if (job.mass > 0)
    moment ? lanes_rows<T, kDim, true, true>(job, begin, end)
           : lanes_rows<T, kDim, false, true>(job, begin, end);
  else
    moment ? lanes_rows<T, kDim, true, false>(job, begin, end)
           : lanes_rows<T, kDim, false, false>(job, begin, end);
}

template <class T>
void rows_of(const LanesJob<T>& job, std::size_t begin, std::size_t end) {
  switch (job.dim) {
    case 2:
      return lanes_of<T, 2>(job, begin, end);
    case 3:
      return lanes_of<T, 3>(job, begin, end);
    default:
      return lanes_of<T, 4>(job, begin, end);
  }
}

void lanes_job(const LanesJob<double>& job, std::size_t begin, std::size_t end) {
  rows_of(job, begin, end);
}
void single_job(const LanesJob<float>& job, std::size_t begin, std::size_t end) {
  rows_of(job, begin, end);
}

}  // namespace HWY_NAMESPACE
}  // namespace attractor::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attractor::kernels {

HWY_EXPORT(lanes_job);
HWY_EXPORT(single_job);

namespace {

void run_job(const LanesJob<double>& job, std::size_t begin, std::size_t end) {
  HWY_DYNAMIC_DISPATCH(lanes_job)(job, begin, end);
}
void run_job(const LanesJob<float>& job, std::size_t begin, std::size_t end) {
  HWY_DYNAMIC_DISPATCH(single_job)(job, begin, end);
}

double longest(std::span<const double> rows, std::size_t dim) {
  double most = 0;
  for (std::size_t i = 0; i < rows.size(); i += dim) {
    double squared = 0;
    for (std::size_t a = 0; a < dim; ++a) squared += rows[i + a] * rows[i + a];
    most = std::max(most, squared);
  }
  return std::sqrt(most);
}

template <class T>
void evaluate(const LogitSources& in, std::span<const std::uint32_t> rows, const RowSums& out) {
  const std::size_t n = in.masses.size(), dim = in.dim, stride = 2 * dim + 1;
  const std::size_t count = rows.empty() ? n : rows.size();
  assert(in.queries.size() == n * dim && out.weight.size() == count && out.peak.size() == count);
  std::vector<T> sources(n * stride);
  for (std::size_t j = 0; j < n; ++j) {
    T* source = sources.data() + j * stride;
    for (std::size_t a = 0; a < dim; ++a) {
      source[a] = static_cast<T>(in.keys[j * dim + a]);
      source[dim + a] = static_cast<T>(in.values[j * dim + a]);
    }
    source[2 * dim] = static_cast<T>(in.masses[j]);
  }
  const auto [least, most] = std::minmax_element(in.masses.begin(), in.masses.end());
  const LanesJob<T> job{.dim = dim,
                        .n = n,
                        .stride = stride,
                        .queries = in.queries.data(),
                        .sources = sources.data(),
                        .scale = in.beta / step<T>(),
                        .mass = *least == *most ? *least : 0,
                        .rows = rows.empty() ? nullptr : rows.data(),
                        .out = &out};
  // About 50 microseconds of work, in whole vectors on every target.
  const auto grain = static_cast<std::size_t>(80e3 / static_cast<double>(n)) / 32 * 32;
  parallel_for(count, std::max<std::size_t>(32, grain),
               [&](std::size_t begin, std::size_t end) { run_job(job, begin, end); });
}

}  // namespace

bool logit_lanes_apply(const LogitSources& in, Precision precision) {
  if (in.dim < 2 || in.dim > 4 || in.masses.size() < 32) return false;
  const bool single = precision == Precision::f32;
  const auto [least, most] = std::minmax_element(in.masses.begin(), in.masses.end());
  const double ratio = single ? 1e6 : 1e100;
  if (!(*least > 1 / ratio && *most < ratio)) return false;
  const double bound = in.beta * longest(in.queries, in.dim) * longest(in.keys, in.dim);
  return bound <= (single ? 40 : 300);
}

void logit_lanes(const LogitSources& in, std::span<const std::uint32_t> rows, const RowSums& out,
                 Precision precision) {
  precision == Precision::f32 ? evaluate<float>(in, rows, out) : evaluate<double>(in, rows, out);
}

}  // namespace attractor::kernels
#endif  // HWY_ONCE
