// Symmetric rows for few coordinates: distance, weight and both pulls of a tile stay in registers,
// lanes over the columns. Also the weight of a pair, which symmetric_wide-inl.hpp shares.
#if defined(ATTRACTOR_KERNELS_SYMMETRIC_FUSED_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTRACTOR_KERNELS_SYMMETRIC_FUSED_INL
#undef ATTRACTOR_KERNELS_SYMMETRIC_FUSED_INL
#else
#define ATTRACTOR_KERNELS_SYMMETRIC_FUSED_INL
#endif

#include <algorithm>

#include "attractor/kernels/dense/symmetric_job.hpp"
#include "attractor/kernels/exp-inl.hpp"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace attractor::kernels {
namespace HWY_NAMESPACE {

// Lanes of columns j.. that pair with row i: each pair once, and both tokens exist.
template <class T>
HWY_INLINE auto paired(const SymmetricJob<T>& job, std::size_t i, std::size_t j) {
  const Tag<T> d;
  const Vector<T> column = hn::Iota(d, static_cast<T>(j));
  const T past = static_cast<T>(i < job.n ? job.n : 0);
  return hn::And(hn::Gt(column, hn::Set(d, static_cast<T>(i))), hn::Lt(column, hn::Set(d, past)));
}

// w with the masses of row i and columns j.., 0 where `counts` is false and, if masked, where the
// lanes are no pair.
template <bool kPlain, class T, class Mask>
HWY_INLINE Vector<T> pair_weight(const SymmetricJob<T>& job, Vector<T> w, Mask counts,
                                 std::size_t i, std::size_t j, bool masked) {
  const Tag<T> d;
  if constexpr (!kPlain) {
    w = hn::IfThenElseZero(counts, w);
    w = hn::Mul(w, hn::Mul(hn::Set(d, job.masses[i]), hn::Load(d, job.masses + j)));
  }
  return masked ? hn::IfThenElseZero(paired(job, i, j), w) : w;
}

template <class T, int kDim, int kRows, bool kPlain>
struct FusedRows {
  using V = Vector<T>;
  V point[kRows][kDim], pull[kRows][kDim], weight[kRows], moment[kRows];

  HWY_INLINE FusedRows(const SymmetricJob<T>& job, std::size_t i) {
    const Tag<T> d;
    ATTRACTOR_UNROLL
    for (int r = 0; r < kRows; ++r) {
      weight[r] = moment[r] = hn::Zero(d);
      ATTRACTOR_UNROLL
      for (int a = 0; a < kDim; ++a) {
        pull[r][a] = hn::Zero(d);
        point[r][a] = hn::Set(d, job.points[a * job.padded + i + r]);
      }
    }
  }

  HWY_INLINE void meet(const SymmetricJob<T>& job, const Columns<T>& out, std::size_t i,
                       std::size_t j, bool masked) {
    const Tag<T> d;
    const std::size_t slot = j - out.origin;
    V x[kDim], f[kDim], weight_j = hn::Load(d, out.weight + slot), moment_j = hn::Zero(d);
    if constexpr (!kPlain) moment_j = hn::Load(d, out.moment + slot);
    ATTRACTOR_UNROLL
    for (int a = 0; a < kDim; ++a) {
      x[a] = hn::Load(d, job.points + a * job.padded + j);
      f[a] = hn::Load(d, out.pull + a * out.stride + slot);
    }
    const auto row = [&](int r) HWY_ATTR {
      V step[kDim], squared = hn::Zero(d);
      ATTRACTOR_UNROLL
      for (int a = 0; a < kDim; ++a) {
        step[a] = hn::Sub(x[a], point[r][a]);
        squared = a == 0 ? hn::Mul(step[a], step[a]) : hn::MulAdd(step[a], step[a], squared);
      }
      const V bare = exp2_steps(d, squared, hn::Set(d, job.factor));
      const auto counts = hn::Lt(squared, hn::Set(d, job.limit));
      const V w = pair_weight<kPlain>(job, bare, counts, i + r, j, masked);
      weight[r] = hn::Add(weight[r], w);
      weight_j = hn::Add(weight_j, w);
      if constexpr (!kPlain) {
        const V part = hn::Mul(w, squared);
        moment[r] = hn::Add(moment[r], part);
        moment_j = hn::Add(moment_j, part);
      }
      ATTRACTOR_UNROLL
      for (int a = 0; a < kDim; ++a) {
        pull[r][a] = hn::MulAdd(w, step[a], pull[r][a]);
        f[a] = hn::NegMulAdd(w, step[a], f[a]);
      }
    };
    if constexpr (sizeof(T) == 4) {  // g++ schedules doubles better by itself
      ATTRACTOR_UNROLL
      for (int r = 0; r < kRows; ++r) row(r);
    } else {
      for (int r = 0; r < kRows; ++r) row(r);
    }
    hn::Store(weight_j, d, out.weight + slot);
    if constexpr (!kPlain) hn::Store(moment_j, d, out.moment + slot);
    ATTRACTOR_UNROLL
    for (int a = 0; a < kDim; ++a) hn::Store(f[a], d, out.pull + a * out.stride + slot);
  }
};

// Sums of rows go to the job, those of columns to `out`.
template <class T, int kDim, bool kPlain>
void fused_tile(const SymmetricJob<T>& job, Range rows, Range columns, const Columns<T>& out) {
  const Tag<T> d;
  constexpr std::size_t kStep = kParts<T>;
  constexpr int kRows = kDim <= 3 ? 4 : 2;  // what the registers hold
  HWY_ALIGN T parts[kRows][kDim + 2][kStep];
  for (std::size_t i = rows.begin; i < rows.end; i += kRows) {
    const std::size_t first = std::max(columns.begin, i / kStep * kStep);
    for (std::size_t lane = 0; lane < kStep; lane += hn::Lanes(d)) {
      FusedRows<T, kDim, kRows, kPlain> block(job, i);
      std::size_t j = first;
      const std::size_t whole =
          i + kRows <= job.n ? std::min(columns.end, job.n / kStep * kStep) : j;
      if (j < i + kRows && j < columns.end) {
        block.meet(job, out, i, j + lane, true);
        j += kStep;
      }
      for (; j < whole; j += kStep) block.meet(job, out, i, j + lane, false);
      for (; j < columns.end; j += kStep) block.meet(job, out, i, j + lane, true);
      ATTRACTOR_UNROLL
      for (int r = 0; r < kRows; ++r) {
        ATTRACTOR_UNROLL
        for (int a = 0; a < kDim; ++a) hn::Store(block.pull[r][a], d, parts[r][a] + lane);
        hn::Store(block.weight[r], d, parts[r][kDim] + lane);
        hn::Store(block.moment[r], d, parts[r][kDim + 1] + lane);
      }
    }
    ATTRACTOR_UNROLL
    for (int r = 0; r < kRows; ++r) {
      ATTRACTOR_UNROLL
      for (int a = 0; a < kDim; ++a) job.pull[a * job.padded + i + r] += sum_of_parts(parts[r][a]);
      job.weight[i + r] += sum_of_parts(parts[r][kDim]);
      if constexpr (!kPlain) job.moment[i + r] += sum_of_parts(parts[r][kDim + 1]);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace attractor::kernels
HWY_AFTER_NAMESPACE();

#endif
