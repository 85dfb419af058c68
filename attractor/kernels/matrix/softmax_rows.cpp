#include "attractor/kernels/matrix/softmax_rows.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attractor/kernels/matrix/softmax_rows.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.
#include "attractor/kernels/exp-inl.hpp"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace attractor::kernels {
namespace HWY_NAMESPACE {

// e^x for x <= 0: 2^{x 16 log2 e / 16}.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp_below_zero(D d, V x) {
  const V least = hn::Set(d, -87.0F);
  const V y = exp2_steps(d, hn::Max(x, least), hn::Set(d, static_cast<float>(kLogitSteps<float>)));
  return hn::IfThenElseZero(hn::Ge(x, least), y);
}

// Lanes of a row of which only a range is seen; what lies outside reads as `otherwise`.
template <class D>
HWY_INLINE hn::Vec<D> seen_lanes(D d, const float* row, std::size_t at, KeyRange seen,
                                 hn::Vec<D> otherwise) {
  HWY_ALIGN float lanes[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(otherwise, d, lanes);
  for (std::size_t k = 0; k < hn::Lanes(d); ++k)
    if (at + k >= seen.first && at + k < seen.last) lanes[k] = row[at + k];
  return hn::Load(d, lanes);
}

// One row: scaled, its peak, exponentials and their sum, then shares.
void softmax_row(float* logits, std::size_t keys, float scale, KeyRange seen, float* chances) {
  const Tag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto factor = hn::Set(d, scale);
  const auto low = hn::Set(d, -std::numeric_limits<float>::infinity());
  auto top = low;
  std::size_t j = 0;
  for (; j < seen.first; ++j) logits[j] *= scale;
  for (; j + lanes <= seen.last; j += lanes) {
    const auto scaled = hn::Mul(hn::LoadU(d, logits + j), factor);
    hn::StoreU(scaled, d, logits + j);
    top = hn::Max(top, scaled);
  }
  const std::size_t rest = j;
  for (; j + lanes <= keys; j += lanes)
    hn::StoreU(hn::Mul(hn::LoadU(d, logits + j), factor), d, logits + j);
  for (; j < keys; ++j) logits[j] *= scale;
  if (rest < seen.last) top = hn::Max(top, seen_lanes(d, logits, rest, seen, low));
  const auto peak = hn::MaxOfLanes(d, top);
  auto sum = hn::Zero(d);
  for (j = seen.first; j + lanes <= seen.last; j += lanes) {
    const auto e = exp_below_zero(d, hn::Sub(hn::LoadU(d, logits + j), peak));
    hn::StoreU(e, d, chances + j);
    sum = hn::Add(sum, e);
  }
  if (j < seen.last) {
    const auto e = exp_below_zero(d, hn::Sub(seen_lanes(d, logits, j, seen, low), peak));
    HWY_ALIGN float last[HWY_MAX_BYTES / sizeof(float)];
    hn::Store(e, d, last);
    std::copy_n(last, seen.last - j, chances + j);
    sum = hn::Add(sum, e);
  }
  const float share = 1 / hn::GetLane(hn::SumOfLanes(d, sum));
  const auto shares = hn::Set(d, share);
  std::fill(chances, chances + seen.first, 0.0F);
  for (j = seen.first; j + lanes <= seen.last; j += lanes)
    hn::StoreU(hn::Mul(hn::LoadU(d, chances + j), shares), d, chances + j);
  for (; j < seen.last; ++j) chances[j] *= share;
  std::fill(chances + seen.last, chances + keys, 0.0F);
}

}  // namespace HWY_NAMESPACE
}  // namespace attractor::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attractor::kernels {

HWY_EXPORT(softmax_row);

void softmax_rows(std::span<float> logits, std::size_t keys, float scale,
                  std::span<const KeyRange> seen, std::span<float> chances) {
  assert(logits.size() == keys * seen.size() && chances.size() == logits.size());
  const auto row = HWY_DYNAMIC_DISPATCH(softmax_row);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    assert(seen[i].first < seen[i].last && seen[i].last <= keys);
    row(logits.data() + i * keys, keys, scale, seen[i], chances.data() + i * keys);
  }
}

void softmax_rows_reference(std::span<float> logits, std::size_t keys, float scale,
                            std::span<const KeyRange> seen, std::span<float> chances) {
  for (std::size_t i = 0; i < seen.size(); ++i) {
    float* l = logits.data() + i * keys;
    float* p = chances.data() + i * keys;
    for (std::size_t j = 0; j < keys; ++j) l[j] *= scale, p[j] = 0;
    const float peak = *std::max_element(l + seen[i].first, l + seen[i].last);
    double sum = 0;
    for (std::size_t j = seen[i].first; j < seen[i].last; ++j)
      sum += std::exp(static_cast<double>(l[j]) - static_cast<double>(peak));
    for (std::size_t j = seen[i].first; j < seen[i].last; ++j)
      p[j] =
          static_cast<float>(std::exp(static_cast<double>(l[j]) - static_cast<double>(peak)) / sum);
  }
}

}  // namespace attractor::kernels
#endif  // HWY_ONCE
