// What tests ask of Highway's library (tests/support/simd_targets.hpp), which is not compiled for
// WebAssembly: there is one target.
#include <hwy/targets.h>

namespace hwy {

int64_t SupportedTargets() { return HWY_WASM; }
void DisableTargets(int64_t) {}
void SetSupportedTargetsForTest(int64_t) {}

}  // namespace hwy
