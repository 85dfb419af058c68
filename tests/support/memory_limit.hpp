// A machine with little memory, for tests of what is taken of it.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <cstddef>
#include <fstream>

namespace attractor {

/// The process may take `bytes` more than it has while this lives: beyond, an allocation fails
/// (std::bad_alloc; AddressSanitizer ends the program).
class MemoryLimit {
 public:
  explicit MemoryLimit(std::size_t bytes) {
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    ::getrlimit(RLIMIT_AS, &before_);
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const rlimit low{pages * page + bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_AS, &low);
  }
  ~MemoryLimit() { ::setrlimit(RLIMIT_AS, &before_); }
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;

 private:
  rlimit before_{};
};

}  // namespace attractor
