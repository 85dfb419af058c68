// exp(x) for SIMD vectors of doubles: x = k ln 2 + r, polynomial of degree 11 in r (interpolated at
// Chebyshev nodes; relative error of the polynomial 2e-17), scaled by 2^k through the exponent
// bits. Below -708.7 the result is exactly 0, above 709.4 infinity. Must not be compiled with
// -ffast-math, which folds the rounding trick away.
//
// exp2_eighths(x): 2^{x/8} for |x| < 8176, from a table of 2^{j/8} and a polynomial of degree 7
// (relative error 6e-18 before rounding): fewer multiplications where the range is known.
#if defined(ATTRACTOR_KERNELS_EXP_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTRACTOR_KERNELS_EXP_INL
#undef ATTRACTOR_KERNELS_EXP_INL
#else
#define ATTRACTOR_KERNELS_EXP_INL
#endif

#include <cstdint>

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

// Bits of 2^{j/8}, less the exponent of 1 and j at the place where k eighths arrive below.
HWY_ALIGN constexpr std::uint64_t kEighths[8] = {
    0x0,
    0xffff72b83c7d517b,
    0xffff06fe0a31b715,
    0xfffebfdad5362a27,
    0xfffea09e667f3bcd,
    0xfffeace5422aa0db,
    0xfffee89f995ad3ad,
    0xffff5818dcfba487,
};

template <class D, class V = hn::Vec<D>>
HWY_INLINE auto eighth_bits(D, V biased) {
  const hn::RebindToUnsigned<D> du;
  const auto index = hn::BitCast(du, biased);
  // The whole table in one register (AVX-512, whose permutation ignores the upper bits by itself),
  // else from memory.
  if constexpr (HWY_MAX_BYTES == 64 && !HWY_IS_DEBUG_BUILD)
    return hn::TableLookupLanes(hn::Load(du, kEighths), hn::IndicesFromVec(du, index));
  else
    return hn::GatherIndex(du, kEighths,
                           hn::BitCast(hn::RebindToSigned<D>(), hn::And(index, hn::Set(du, 7))));
}

/// 2^{factor s / 8}; with FMA the product is not rounded before its integer part is taken off.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp2_eighths(D d, V s, V factor) {
  const auto constant = [d](double c) HWY_ATTR { return hn::Set(d, c); };
  const V magic = constant(0x1.8p52 + 8 * 1023);
  const V biased = hn::MulAdd(s, factor, magic);
  const V r = hn::MulSub(s, factor, hn::Sub(biased, magic));
  V q = constant(0x1.ffd1f6633bd3ap-38);
  q = hn::MulAdd(q, r, constant(0x1.430deca12d584p-31));
  q = hn::MulAdd(q, r, constant(0x1.5d87fe72ac65ep-25));
  q = hn::MulAdd(q, r, constant(0x1.3b2ab6f1f1910p-19));
  q = hn::MulAdd(q, r, constant(0x1.c6b08d704a11fp-14));
  q = hn::MulAdd(q, r, constant(0x1.ebfbdff82c6c5p-9));
  q = hn::MulAdd(q, r, constant(0x1.62e42fefa39efp-4));
  const hn::RebindToUnsigned<D> du;
  const auto bits = hn::Add(eighth_bits(d, biased), hn::ShiftLeft<49>(hn::BitCast(du, biased)));
  const V scale = hn::BitCast(d, bits);
  return hn::MulAdd(scale, hn::Mul(q, r), scale);
}

}  // namespace HWY_NAMESPACE
}  // namespace attractor::kernels
HWY_AFTER_NAMESPACE();

#endif
