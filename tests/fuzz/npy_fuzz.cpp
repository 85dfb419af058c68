// libFuzzer: any bytes are either an .npy array whose size matches its shape, or an Error.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "attractor/base/error.hpp"
#include "attractor/files/arrays/npy.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const attractor::Array array =
        attractor::parse_npy(std::as_bytes(std::span(data, size)), "fuzz");
    std::size_t count = 1;
    for (const std::size_t dim : array.shape) count *= dim;
    if (count != array.data.size()) std::abort();
  } catch (const attractor::Error&) {
  }
  return 0;
}
