// Highway 1.0.3 on WebAssembly has no lanes of doubles, though WebAssembly does (f64x2): this file stands before Highway's own of
// the same name (cmake/wasm.cmake puts its folder first) and adds what the kernels ask of doubles. Without fused
// multiply-add every product is rounded, so last bits differ from those of processors that have it.
#include_next <hwy/highway.h>

#if HWY_TARGET == HWY_WASM && !HWY_HAVE_FLOAT64 && !defined(ATTRACTOR_WASM_DOUBLES)
#define ATTRACTOR_WASM_DOUBLES

HWY_BEFORE_NAMESPACE();
namespace hwy {
namespace HWY_NAMESPACE {

template <size_t N>
using Doubles = Vec128<double, N>;
template <size_t N>
using DoubleMask = Mask128<double, N>;

template <size_t N, HWY_IF_LE128(double, N)>
HWY_API Doubles<N> Set(Simd<double, N, 0>, const double value) {
  return {wasm_f64x2_splat(value)};
}

#define ATTRACTOR_BINARY(result, name, instruction)                 \
  template <size_t N>                                               \
  HWY_API result<N> name(const Doubles<N> a, const Doubles<N> b) {  \
    return {instruction(a.raw, b.raw)};                             \
  }
ATTRACTOR_BINARY(Doubles, operator+, wasm_f64x2_add)
ATTRACTOR_BINARY(Doubles, operator-, wasm_f64x2_sub)
ATTRACTOR_BINARY(Doubles, operator*, wasm_f64x2_mul)
ATTRACTOR_BINARY(Doubles, operator/, wasm_f64x2_div)
ATTRACTOR_BINARY(DoubleMask, operator==, wasm_f64x2_eq)
ATTRACTOR_BINARY(DoubleMask, operator!=, wasm_f64x2_ne)
ATTRACTOR_BINARY(DoubleMask, operator>, wasm_f64x2_gt)
ATTRACTOR_BINARY(DoubleMask, operator<=, wasm_f64x2_le)
ATTRACTOR_BINARY(DoubleMask, operator>=, wasm_f64x2_ge)
#undef ATTRACTOR_BINARY

// The second argument where one is NaN, as on x86.
template <size_t N>
HWY_API Doubles<N> Min(const Doubles<N> a, const Doubles<N> b) {
  return {wasm_f64x2_pmin(b.raw, a.raw)};
}
template <size_t N>
HWY_API Doubles<N> Max(const Doubles<N> a, const Doubles<N> b) {
  return {wasm_f64x2_pmax(b.raw, a.raw)};
}
template <size_t N>
HWY_API Doubles<N> Abs(const Doubles<N> v) {
  return {wasm_f64x2_abs(v.raw)};
}
template <size_t N>
HWY_API Doubles<N> Sqrt(const Doubles<N> v) {
  return {wasm_f64x2_sqrt(v.raw)};
}

template <size_t N>
HWY_API Doubles<N> MulAdd(const Doubles<N> a, const Doubles<N> b, const Doubles<N> c) {
  return a * b + c;
}
template <size_t N>
HWY_API Doubles<N> NegMulAdd(const Doubles<N> a, const Doubles<N> b, const Doubles<N> c) {
  return c - a * b;
}
template <size_t N>
HWY_API Doubles<N> MulSub(const Doubles<N> a, const Doubles<N> b, const Doubles<N> c) {
  return a * b - c;
}

// Highway's own reads the bits of a lane as an integer.
template <size_t N>
HWY_API double GetLane(const Doubles<N> v) {
  return wasm_f64x2_extract_lane(v.raw, 0);
}

template <size_t N, HWY_IF_LE128(double, N)>
HWY_API Doubles<N> PromoteTo(Simd<double, N, 0>, const Vec128<float, N> v) {
  return {wasm_f64x2_promote_low_f32x4(v.raw)};
}
template <size_t N>
HWY_API Vec128<float, N> DemoteTo(Simd<float, N, 0>, const Doubles<N> v) {
  return {wasm_f32x4_demote_f64x2_zero(v.raw)};
}

}  // namespace HWY_NAMESPACE
}  // namespace hwy
HWY_AFTER_NAMESPACE();

#endif
