// Fused multiply-adds and nothing else, once for each kind of processor: the peak of one thread.
#if defined(ATTRACTOR_BENCH_MULTIPLY_ADD) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTRACTOR_BENCH_MULTIPLY_ADD
#undef ATTRACTOR_BENCH_MULTIPLY_ADD
#else
#define ATTRACTOR_BENCH_MULTIPLY_ADD
#endif

#include <cstddef>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace attractor {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Twelve independent chains of multiply-adds, `rounds` long; the flops done. They start apart: a
// compiler computes equal ones once.
template <class T>
double multiply_add(std::size_t rounds, double& sum) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const V x = hn::Set(d, T(0.999)), y = hn::Set(d, T(1e-3));
  const auto start = [d](int value) HWY_ATTR { return hn::Set(d, static_cast<T>(value)); };
  V a = start(1), b = start(2), c = start(3), e = start(4), f = start(5), g = start(6);
  V h = start(7), i = start(8), j = start(9), k = start(10), l = start(11), m = start(12);
  for (std::size_t r = 0; r < rounds; ++r) {
    a = hn::MulAdd(a, x, y), b = hn::MulAdd(b, x, y), c = hn::MulAdd(c, x, y);
    e = hn::MulAdd(e, x, y), f = hn::MulAdd(f, x, y), g = hn::MulAdd(g, x, y);
    h = hn::MulAdd(h, x, y), i = hn::MulAdd(i, x, y), j = hn::MulAdd(j, x, y);
    k = hn::MulAdd(k, x, y), l = hn::MulAdd(l, x, y), m = hn::MulAdd(m, x, y);
  }
  a = hn::Add(hn::Add(hn::Add(a, b), hn::Add(c, e)), hn::Add(hn::Add(f, g), hn::Add(h, i)));
  a = hn::Add(a, hn::Add(hn::Add(j, k), hn::Add(l, m)));
  sum += static_cast<double>(hn::GetLane(a));
  return 24.0 * static_cast<double>(rounds * hn::Lanes(d));
}

}  // namespace HWY_NAMESPACE
}  // namespace attractor
HWY_AFTER_NAMESPACE();

#endif  // once for each target
