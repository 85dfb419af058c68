// exp(x) for SIMD vectors of doubles: x = k ln 2 + r, polynomial of degree 11 in r (interpolated at
// Chebyshev nodes; relative error of the polynomial 2e-17), scaled by 2^k through the exponent
// bits. Below -708.7 the result is exactly 0, above 709.4 infinity. Must not be compiled with
// -ffast-math, which folds the rounding trick away.
#if defined(ATTRACTOR_KERNELS_EXP_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTRACTOR_KERNELS_EXP_INL
#undef ATTRACTOR_KERNELS_EXP_INL
#else
#define ATTRACTOR_KERNELS_EXP_INL
#endif

#include "hwy/highway.h"

#ifdef __FAST_MATH__
#error "attractor/kernels needs exact rounding; do not compile with -ffast-math"
#endif

HWY_BEFORE_NAMESPACE();
namespace attractor::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp_bounded(D d, V x) {
  const auto constant = [d](double c) HWY_ATTR { return hn::Set(d, c); };
  x = hn::Min(hn::Max(x, constant(-709.2)), constant(710.0));
  // Adding 1.5 * 2^52 rounds to an integer and leaves k + 1023 in the low bits.
  const V magic = constant(0x1.8p52 + 1023);
  const V biased = hn::MulAdd(x, constant(1.4426950408889634), magic);
  const V k = hn::Sub(biased, magic);
  V r = hn::NegMulAdd(k, constant(0x1.62e42feep-1), x);
  r = hn::NegMulAdd(k, constant(0x1.a39ef35793c76p-33), r);
  V p = constant(0x1.af632a0f7e2cep-26);
  p = hn::MulAdd(p, r, constant(0x1.28b4101c77212p-22));
  p = hn::MulAdd(p, r, constant(0x1.71ddf56d8deb5p-19));
  p = hn::MulAdd(p, r, constant(0x1.a01991a10d9aep-16));
  p = hn::MulAdd(p, r, constant(0x1.a01a01b1461c5p-13));
  p = hn::MulAdd(p, r, constant(0x1.6c16c1880029fp-10));
  p = hn::MulAdd(p, r, constant(0x1.111111110f21ep-7));
  p = hn::MulAdd(p, r, constant(0x1.555555554f0bap-5));
  p = hn::MulAdd(p, r, constant(0x1.555555555555ap-3));
  p = hn::MulAdd(p, r, constant(0x1.0000000000011p-1));
  p = hn::MulAdd(p, r, constant(1.0));
  p = hn::MulAdd(p, r, constant(1.0));
  const hn::RebindToSigned<D> di;
  const V scale = hn::BitCast(d, hn::ShiftLeft<52>(hn::BitCast(di, biased)));
  return hn::Mul(p, scale);
}

}  // namespace HWY_NAMESPACE
}  // namespace attractor::kernels
HWY_AFTER_NAMESPACE();

#endif
