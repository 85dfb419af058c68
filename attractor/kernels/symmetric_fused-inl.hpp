// Symmetric rows for few coordinates: distance, weight and both pulls of a tile stay in registers,
// lanes over the columns. Also the weight of a pair, which symmetric_wide-inl.hpp shares.
#if defined(ATTRACTOR_KERNELS_SYMMETRIC_FUSED_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTRACTOR_KERNELS_SYMMETRIC_FUSED_INL
#undef ATTRACTOR_KERNELS_SYMMETRIC_FUSED_INL
#else
#define ATTRACTOR_KERNELS_SYMMETRIC_FUSED_INL
#endif

#include <algorithm>

#include "attractor/kernels/exp-inl.hpp"
#include "attractor/kernels/symmetric_job.hpp"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace attractor::kernels {
namespace HWY_NAMESPACE {

using D = hn::ScalableTag<double>;
using V = hn::Vec<D>;

// Lanes of columns j.. that pair with row i: each pair once, and both tokens exist.
HWY_INLINE auto paired(const SymmetricJob& job, std::size_t i, std::size_t j) {
  const D d;
  const V column = hn::Iota(d, static_cast<double>(j));
  const double past = static_cast<double>(i < job.n ? job.n : 0);
  return hn::And(hn::Gt(column, hn::Set(d, static_cast<double>(i))),
                 hn::Lt(column, hn::Set(d, past)));
}

// m_i m_j w_ij of one row and a vector of columns, from squared distances.
template <bool kPlain>
HWY_INLINE V pair_weight(const SymmetricJob& job, V squared, std::size_t i, std::size_t j,
                         bool masked) {
  const D d;
  V w = exp2_eighths(d, squared, hn::Set(d, job.factor));
  if constexpr (!kPlain) {
    w = hn::IfThenElseZero(hn::Lt(squared, hn::Set(d, job.limit)), w);
    w = hn::Mul(w, hn::Mul(hn::Set(d, job.masses[i]), hn::Load(d, job.masses + j)));
  }
  return masked ? hn::IfThenElseZero(paired(job, i, j), w) : w;
}

HWY_INLINE double sum_of_parts(const double* p) {
  return ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
}

template <int kDim, int kRows, bool kPlain>
struct FusedRows {
  V point[kRows][kDim], pull[kRows][kDim], weight[kRows], moment[kRows];

  HWY_INLINE FusedRows(const SymmetricJob& job, std::size_t i) {
    const D d;
    for (int r = 0; r < kRows; ++r) {
      weight[r] = moment[r] = hn::Zero(d);
      for (int a = 0; a < kDim; ++a) {
        pull[r][a] = hn::Zero(d);
        point[r][a] = hn::Set(d, job.points[a * job.padded + i + r]);
      }
    }
  }

  HWY_INLINE void meet(const SymmetricJob& job, std::size_t i, std::size_t j, bool masked) {
    const D d;
    V x[kDim], f[kDim], weight_j = hn::Load(d, job.weight + j), moment_j = hn::Zero(d);
    if constexpr (!kPlain) moment_j = hn::Load(d, job.moment + j);
    for (int a = 0; a < kDim; ++a) {
      x[a] = hn::Load(d, job.points + a * job.padded + j);
      f[a] = hn::Load(d, job.pull + a * job.padded + j);
    }
    for (int r = 0; r < kRows; ++r) {
      V step[kDim], squared = hn::Zero(d);
      for (int a = 0; a < kDim; ++a) {
        step[a] = hn::Sub(x[a], point[r][a]);
        squared = a == 0 ? hn::Mul(step[a], step[a]) : hn::MulAdd(step[a], step[a], squared);
      }
      const V w = pair_weight<kPlain>(job, squared, i + r, j, masked);
      weight[r] = hn::Add(weight[r], w);
      weight_j = hn::Add(weight_j, w);
      if constexpr (!kPlain) {
        const V part = hn::Mul(w, squared);
        moment[r] = hn::Add(moment[r], part);
        moment_j = hn::Add(moment_j, part);
      }
      for (int a = 0; a < kDim; ++a) {
        pull[r][a] = hn::MulAdd(w, step[a], pull[r][a]);
        f[a] = hn::NegMulAdd(w, step[a], f[a]);
      }
    }
    hn::Store(weight_j, d, job.weight + j);
    if constexpr (!kPlain) hn::Store(moment_j, d, job.moment + j);
    for (int a = 0; a < kDim; ++a) hn::Store(f[a], d, job.pull + a * job.padded + j);
  }
};

template <int kDim, bool kPlain>
void fused_tile(const SymmetricJob& job, Range rows, Range columns) {
  const D d;
  constexpr int kRows = kDim <= 3 ? 4 : 2;  // what the registers hold
  HWY_ALIGN double parts[kRows][kDim + 2][kParts];
  for (std::size_t i = rows.begin; i < rows.end; i += kRows) {
    const std::size_t first = std::max(columns.begin, i / kParts * kParts);
    for (std::size_t lane = 0; lane < kParts; lane += hn::Lanes(d)) {
      FusedRows<kDim, kRows, kPlain> block(job, i);
      std::size_t j = first;
      const std::size_t whole = i + kRows <= job.n ? std::min(columns.end, job.n / 8 * 8) : j;
      if (j < i + kRows && j < columns.end) {
        block.meet(job, i, j + lane, true);
        j += kParts;
      }
      for (; j < whole; j += kParts) block.meet(job, i, j + lane, false);
      for (; j < columns.end; j += kParts) block.meet(job, i, j + lane, true);
      for (int r = 0; r < kRows; ++r) {
        for (int a = 0; a < kDim; ++a) hn::Store(block.pull[r][a], d, parts[r][a] + lane);
        hn::Store(block.weight[r], d, parts[r][kDim] + lane);
        hn::Store(block.moment[r], d, parts[r][kDim + 1] + lane);
      }
    }
    for (int r = 0; r < kRows; ++r) {
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
