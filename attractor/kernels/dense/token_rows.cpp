#include "attractor/kernels/dense/token_rows.hpp"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attractor/kernels/dense/token_rows.cpp"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
// After foreach_target.
#include "attractor/kernels/lanes-inl.hpp"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace attractor::kernels {
namespace HWY_NAMESPACE {

HWY_INLINE V doubles(D d, const double* x) { return hn::LoadU(d, x); }
HWY_INLINE V doubles(D d, const float* x) {
  const hn::Rebind<float, D> half;
  return hn::PromoteTo(d, hn::LoadU(half, x));
}

// Row by row, so that memory is read in order (several rows side by side take twice the time), the
// next row on its way meanwhile; four independent chains in each.
template <class T>
HWY_INLINE void products_of(const T* rows, std::size_t count, std::size_t dim, const double* u,
                            double* out) {
  const D d;
  const std::size_t lanes = hn::Lanes(d), whole = dim / lanes * lanes;
  const std::size_t fourfold = dim / (4 * lanes) * (4 * lanes);
  for (std::size_t t = 0; t < count; ++t) {
    const T* row = rows + t * dim;
    const T* next = rows + std::min(t + 1, count - 1) * dim;
    auto s0 = hn::Zero(d), s1 = hn::Zero(d), s2 = hn::Zero(d), s3 = hn::Zero(d);
    const auto add = [&](std::size_t b, auto& sum) HWY_ATTR {
      hwy::Prefetch(next + b);
      sum = hn::MulAdd(doubles(d, row + b), hn::LoadU(d, u + b), sum);
    };
    for (std::size_t b = 0; b < fourfold; b += 4 * lanes) {
      add(b, s0);
      add(b + lanes, s1);
      add(b + 2 * lanes, s2);
      add(b + 3 * lanes, s3);
    }
    for (std::size_t b = fourfold; b < whole; b += lanes) add(b, s0);
    const auto sums = hn::Add(hn::Add(s0, s1), hn::Add(s2, s3));
    double sum = hn::GetLane(hn::SumOfLanes(d, sums));
    for (std::size_t b = whole; b < dim; ++b) sum += static_cast<double>(row[b]) * u[b];
    out[t] = sum;
  }
}

// Four rows at a time: `out` is loaded and stored once for all of them. These rows come from a
// cache, so memory would be idle; asking for more than one row of `ahead` in that time only makes
// requests wait for each other.
template <class T>
HWY_INLINE void differences_of(const T* rows, std::size_t count, std::size_t dim, const double* c,
                               const T* origin, double* out, const T* ahead) {
  const D d;
  const std::size_t lanes = hn::Lanes(d), whole = dim / lanes * lanes;
  std::fill(out, out + dim, 0.0);
  for (std::size_t t = 0, groups = 0; t < count; ++groups) {
    const T* row[4] = {origin, origin, origin, origin};  // adds nothing
    const T* soon = ahead ? ahead + groups * dim : origin;
    double factor[4] = {};
    for (std::size_t k = 0; k < 4 && t < count; ++t)
      if (c[t] != 0) row[k] = rows + t * dim, factor[k++] = c[t];
    const auto f0 = hn::Set(d, factor[0]), f1 = hn::Set(d, factor[1]);
    const auto f2 = hn::Set(d, factor[2]), f3 = hn::Set(d, factor[3]);
    for (std::size_t b = 0; b < whole; b += lanes) {
      hwy::Prefetch(soon + b);
      const auto o = doubles(d, origin + b);
      auto sum = hn::LoadU(d, out + b);
      sum = hn::MulAdd(f0, hn::Sub(doubles(d, row[0] + b), o), sum);
      sum = hn::MulAdd(f1, hn::Sub(doubles(d, row[1] + b), o), sum);
      sum = hn::MulAdd(f2, hn::Sub(doubles(d, row[2] + b), o), sum);
      sum = hn::MulAdd(f3, hn::Sub(doubles(d, row[3] + b), o), sum);
      hn::StoreU(sum, d, out + b);
    }
    for (std::size_t b = whole; b < dim; ++b)
      for (std::size_t k = 0; k < 4; ++k)
        out[b] += factor[k] * (static_cast<double>(row[k][b]) - static_cast<double>(origin[b]));
  }
}

void products(const double* rows, std::size_t count, std::size_t dim, const double* u,
              double* out) {
  products_of(rows, count, dim, u, out);
}
void products_single(const float* rows, std::size_t count, std::size_t dim, const double* u,
                     double* out) {
  products_of(rows, count, dim, u, out);
}
void differences(const double* rows, std::size_t count, std::size_t dim, const double* c,
                 const double* origin, double* out, const double* ahead) {
  differences_of(rows, count, dim, c, origin, out, ahead);
}
void differences_single(const float* rows, std::size_t count, std::size_t dim, const double* c,
                        const float* origin, double* out, const float* ahead) {
  differences_of(rows, count, dim, c, origin, out, ahead);
}

}  // namespace HWY_NAMESPACE
}  // namespace attractor::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attractor::kernels {

HWY_EXPORT(products);
HWY_EXPORT(products_single);
HWY_EXPORT(differences);
HWY_EXPORT(differences_single);

namespace {

constexpr std::size_t kShort =
    8;  // below, a call through the dispatch table costs more than it saves

template <class T>
void short_products(std::span<const T> rows, std::span<const double> u, std::span<double> out) {
  const std::size_t dim = u.size();
  for (std::size_t t = 0; t < out.size(); ++t) {
    double sum = 0;
    for (std::size_t b = 0; b < dim; ++b) sum += static_cast<double>(rows[t * dim + b]) * u[b];
    out[t] = sum;
  }
}

template <class T>
void short_differences(std::span<const T> rows, std::span<const double> c,
                       std::span<const T> origin, std::span<double> out) {
  const std::size_t dim = out.size();
  std::fill(out.begin(), out.end(), 0.0);
  for (std::size_t t = 0; t < c.size(); ++t)
    for (std::size_t b = 0; b < dim && c[t] != 0; ++b)
      out[b] += c[t] * (static_cast<double>(rows[t * dim + b]) - static_cast<double>(origin[b]));
}

}  // namespace

void row_products(std::span<const double> rows, std::span<const double> u, std::span<double> out) {
  if (u.size() < kShort) return short_products(rows, u, out);
  HWY_DYNAMIC_DISPATCH(products)(rows.data(), out.size(), u.size(), u.data(), out.data());
}

void row_products(std::span<const float> rows, std::span<const double> u, std::span<double> out) {
  if (u.size() < kShort) return short_products(rows, u, out);
  HWY_DYNAMIC_DISPATCH(products_single)(rows.data(), out.size(), u.size(), u.data(), out.data());
}

void weighted_differences(std::span<const double> rows, std::span<const double> c,
                          std::span<const double> origin, std::span<double> out,
                          std::span<const double> ahead) {
  if (out.size() < kShort) return short_differences(rows, c, origin, out);
  HWY_DYNAMIC_DISPATCH(differences)
  (rows.data(), c.size(), out.size(), c.data(), origin.data(), out.data(), ahead.data());
}

void weighted_differences(std::span<const float> rows, std::span<const double> c,
                          std::span<const float> origin, std::span<double> out,
                          std::span<const float> ahead) {
  if (out.size() < kShort) return short_differences(rows, c, origin, out);
  HWY_DYNAMIC_DISPATCH(differences_single)
  (rows.data(), c.size(), out.size(), c.data(), origin.data(), out.data(), ahead.data());
}

}  // namespace attractor::kernels
#endif
