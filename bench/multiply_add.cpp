#include "bench/multiply_add.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/multiply_add.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace attractor {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The chains start apart: a compiler computes equal ones once.
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

double in_doubles(std::size_t rounds, double& sum) { return multiply_add<double>(rounds, sum); }
double in_floats(std::size_t rounds, double& sum) { return multiply_add<float>(rounds, sum); }

}  // namespace HWY_NAMESPACE
}  // namespace attractor
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attractor {

HWY_EXPORT(in_doubles);
HWY_EXPORT(in_floats);

double multiply_add_f64(std::size_t rounds, double& sum) {
  return HWY_DYNAMIC_DISPATCH(in_doubles)(rounds, sum);
}
double multiply_add_f32(std::size_t rounds, double& sum) {
  return HWY_DYNAMIC_DISPATCH(in_floats)(rounds, sum);
}

}  // namespace attractor
#endif
