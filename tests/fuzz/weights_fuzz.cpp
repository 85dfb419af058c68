// libFuzzer: any bytes as a file of weights (safetensors, its index, ONNX, llama2.c) or an archive
// of arrays (.npz): refused with an Error of one line, or read, every tensor of it, never more.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "attractor/base/error.hpp"
#include "attractor/files/arrays/npz.hpp"
#include "attractor/files/arrays/safetensors.hpp"
#include "attractor/files/models/llama2c.hpp"
#include "attractor/files/models/onnx_weights.hpp"
#include "attractor/models/assemble.hpp"

namespace {

using namespace attractor;

/// A file that lives in memory.
class MemoryFile {
 public:
  MemoryFile(const std::uint8_t* data, std::size_t size) : descriptor_(::memfd_create("fuzz", 0)) {
    if (descriptor_ < 0 || ::write(descriptor_, data, size) != static_cast<ssize_t>(size))
      std::abort();
  }
  ~MemoryFile() { ::close(descriptor_); }
  std::filesystem::path path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

void read_all(const models::TensorSource& source) {
  for (const std::string& name : source.names()) {
    const std::size_t count = models::elements(*source.shape(name), name);
    if (count > 10000000) std::abort();  // more than the bytes that were given
    std::vector<float> out(count);
    try {
      source.read(name, out);
    } catch (const Error&) {  // a dtype that is not read
    }
  }
}

void use(std::uint8_t kind, const std::filesystem::path& file) {
  if (kind % 4 == 0) read_all(Safetensors(file));
  if (kind % 4 == 1) read_all(OnnxWeights({file}));
  if (kind % 4 == 2) {
    const Llama2c model(file);
    read_all(model);
    models::assemble(model.architecture(), model, true);
  }
  if (kind % 4 == 3) {
    const Npz archive(file);
    for (const std::string& name : archive.names()) archive.read(name);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const MemoryFile file(data + 1, size - 1);
  try {
    use(data[0], file.path());
  } catch (const Error& error) {
    if (std::string(error.what()).find('\n') != std::string::npos) std::abort();
  }
  return 0;
}
