// exp(x) for SIMD vectors of doubles: x = k ln 2 + r, polynomial of degree 11 in r (interpolated at
// Chebyshev nodes; relative error of the polynomial 2e-17), scaled by 2^k through the exponent
// bits. Below -708.7 the result is exactly 0, above 709.4 infinity. Must not be compiled with
// -ffast-math, which folds the rounding trick away.
//
// exp2_steps(x): 2^{x/8} for doubles, |x| < 8176, from a table of 2^{j/8} and a polynomial of
// degree 7 (relative error 6e-18 before rounding): fewer multiplications where the range is known.
// Floats: 2^{x/16}, |x| < 2016, degree 3 (1e-9).
#if defined(ATTRACTOR_KERNELS_EXP_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTRACTOR_KERNELS_EXP_INL
#undef ATTRACTOR_KERNELS_EXP_INL
#else
#define ATTRACTOR_KERNELS_EXP_INL
#endif

#include <cstdint>

#include "hwy/highway.h"

// Loops over arrays of vectors must vanish early for the arrays to become registers.
#ifndef ATTRACTOR_UNROLL
#if defined(__clang__)
#define ATTRACTOR_UNROLL _Pragma("clang loop unroll(full)")
#else
#define ATTRACTOR_UNROLL _Pragma("GCC unroll 16")
#endif
#endif

#ifdef __FAST_MATH__
#error "attractor/kernels needs exact rounding; do not compile with -ffast-math"
#endif

#ifndef ATTRACTOR_KERNELS_EXP_STEPS
#define ATTRACTOR_KERNELS_EXP_STEPS
namespace attractor::kernels {
template <class T>
constexpr T kSteps = sizeof(T) == 8 ? 8 : 16;  // of an octave
template <class T>
constexpr double kLogitSteps = static_cast<double>(kSteps<T>) * 1.4426950408889634;
}  // namespace attractor::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace attractor::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using Tag = hn::ScalableTag<T>;
template <class T>
using Vector = hn::Vec<Tag<T>>;

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

// The same of 2^{j/16} for float.
HWY_ALIGN constexpr std::uint32_t kSixteenths[16] = {
    0x00000000, 0xfffdaac3, 0xfffb95c2, 0xfff9c3d3, 0xfff837f0, 0xfff6f532, 0xfff5fed7, 0xfff5583f,
    0xfff504f3, 0xfff508a4, 0xfff5672a, 0xfff6248c, 0xfff744fd, 0xfff8ccdf, 0xfffac0c7, 0xfffd257d,
};

// Adding it rounds to an integer k and leaves k and the bias of the exponent in the low bits.
template <class T>
constexpr T kStepMagic = sizeof(T) == 8 ? T(0x1.8p52 + 8 * 1023) : T(0x1.8p23 + 16 * 127);

template <class D, class V = hn::Vec<D>>
HWY_INLINE auto table_bits(D, V biased) {
  const hn::RebindToUnsigned<D> du;
  const auto index = hn::BitCast(du, biased);
  const auto* table = [] {
    if constexpr (sizeof(hn::TFromD<D>) == 8)
      return kEighths;
    else
      return kSixteenths;
  }();
  // The whole table in one register (AVX-512, whose permutation ignores the upper bits by itself),
  // else from memory.
  if constexpr (HWY_MAX_BYTES == 64 && !HWY_IS_DEBUG_BUILD)
    return hn::TableLookupLanes(hn::Load(du, table), hn::IndicesFromVec(du, index));
  else
    return hn::GatherIndex(
        du, table,
        hn::BitCast(hn::RebindToSigned<D>(),
                    hn::And(index, hn::Set(du, 64 / sizeof(hn::TFromD<D>) - 1))));
}

// The rest of exp2_steps: k steps (in the low bits of `biased`) and a part r of a step.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp2_parts(D d, V biased, V r) {
  using T = hn::TFromD<D>;
  const auto constant = [d](T c) HWY_ATTR { return hn::Set(d, c); };
  V q;
  if constexpr (sizeof(T) == 8) {
    q = constant(0x1.ffd1f6633bd3ap-38);
    q = hn::MulAdd(q, r, constant(0x1.430deca12d584p-31));
    q = hn::MulAdd(q, r, constant(0x1.5d87fe72ac65ep-25));
    q = hn::MulAdd(q, r, constant(0x1.3b2ab6f1f1910p-19));
    q = hn::MulAdd(q, r, constant(0x1.c6b08d704a11fp-14));
    q = hn::MulAdd(q, r, constant(0x1.ebfbdff82c6c5p-9));
    q = hn::MulAdd(q, r, constant(0x1.62e42fefa39efp-4));
  } else {
    q = constant(0x1.c6b29ap-17f);
    q = hn::MulAdd(q, r, constant(0x1.ebff92p-11f));
    q = hn::MulAdd(q, r, constant(0x1.62e43p-5f));
  }
  constexpr int kShift = sizeof(T) == 8 ? 49 : 19;
  const hn::RebindToUnsigned<D> du;
  const auto bits = hn::Add(table_bits(d, biased), hn::ShiftLeft<kShift>(hn::BitCast(du, biased)));
  const V scale = hn::BitCast(d, bits);
  return hn::MulAdd(scale, hn::Mul(q, r), scale);
}

/// 2^{factor s / kSteps}; with FMA the product is not rounded before its integer part is taken off.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp2_steps(D d, V s, V factor) {
  const V magic = hn::Set(d, kStepMagic<hn::TFromD<D>>);
  const V biased = hn::MulAdd(s, factor, magic);
  return exp2_parts(d, biased, hn::MulSub(s, factor, hn::Sub(biased, magic)));
}

/// 2^{s / kSteps}.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp2_steps(D d, V s) {
  const V magic = hn::Set(d, kStepMagic<hn::TFromD<D>>);
  const V biased = hn::Add(s, magic);
  return exp2_parts(d, biased, hn::Sub(s, hn::Sub(biased, magic)));
}

/// Interleaved parts of a sum, a cache line of them, in one order for every target.
HWY_INLINE double sum_of_parts(const double* p) {
  return ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
}
HWY_INLINE double sum_of_parts(const float* p) {
  double half[8];
  for (int k = 0; k < 8; ++k) half[k] = static_cast<double>(p[k]) + static_cast<double>(p[k + 8]);
  return sum_of_parts(half);
}

/// sum[0..] += terms, in double.
HWY_INLINE void add_to(double* sum, Vector<double> terms) {
  const Tag<double> d;
  hn::Store(hn::Add(hn::Load(d, sum), terms), d, sum);
}
HWY_INLINE void add_to(double* sum, Vector<float> terms) {
  const Tag<double> d;
  const hn::Rebind<float, Tag<double>> half;
  HWY_ALIGN float buffer[hn::MaxLanes(Tag<float>())];
  hn::Store(terms, Tag<float>(), buffer);
  for (std::size_t k = 0; k < hn::Lanes(Tag<float>()); k += hn::Lanes(d))
    add_to(sum + k, hn::PromoteTo(d, hn::Load(half, buffer + k)));
}

}  // namespace HWY_NAMESPACE
}  // namespace attractor::kernels
HWY_AFTER_NAMESPACE();

#endif
