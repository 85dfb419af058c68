// Any bytes as a checkpoint: refused with an Error or read, never more.
#include <cstddef>
#include <cstdint>
#include <string>

#include "attractor/base/error.hpp"
#include "attractor/experiment/checkpoint.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // The magic line is fixed; without it the fuzzer would have to find it first.
  const std::string bytes =
      "ATTRACTOR-FLOW-CHECKPOINT-2\n" + std::string(reinterpret_cast<const char*>(data), size);
  try {
    attractor::experiment::parse_checkpoint(bytes, "fuzz");
  } catch (const attractor::Error&) {
  }
  return 0;
}
