// Vectors of doubles as kernels name them: a tag, a vector, how many a vector holds at most.
// Included once for every target, after hwy/foreach_target.h.
#if defined(ATTRACTOR_KERNELS_LANES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTRACTOR_KERNELS_LANES_INL
#undef ATTRACTOR_KERNELS_LANES_INL
#else
#define ATTRACTOR_KERNELS_LANES_INL
#endif

#include <cstddef>

#include "hwy/highway.h"

#ifdef __FAST_MATH__
#error "attractor/kernels needs exact rounding; do not compile with -ffast-math"
#endif

HWY_BEFORE_NAMESPACE();
namespace attractor::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<double>;
using V = hn::Vec<D>;
constexpr std::size_t kLanes = hn::MaxLanes(D());

}  // namespace HWY_NAMESPACE
}  // namespace attractor::kernels
HWY_AFTER_NAMESPACE();

#endif
