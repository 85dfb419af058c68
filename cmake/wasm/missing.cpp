// What libraries that are not compiled for WebAssembly would bring: Highway's aligned memory, and
// the number of cores, which is one.
#include <hwy/aligned_allocator.h>
#include <sched.h>

#include <cstdlib>

namespace hwy {

void* AllocateAlignedBytes(size_t size, AllocPtr, void*) {
  return std::aligned_alloc(HWY_ALIGNMENT,
                            (size + HWY_ALIGNMENT - 1) / HWY_ALIGNMENT * HWY_ALIGNMENT);
}
void FreeAlignedBytes(const void* memory, FreePtr, void*) { std::free(const_cast<void*>(memory)); }

}  // namespace hwy

extern "C" {
int sched_getaffinity(pid_t, size_t, cpu_set_t*) { return -1; }
int __sched_cpucount(size_t, const cpu_set_t*) { return 1; }
}
