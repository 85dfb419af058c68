// What the timing programs share.
#pragma once

#include <fmt/format.h>
#include <time.h>

#include <cstddef>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "attractor/base/error.hpp"
#include "attractor/base/threads.hpp"

namespace attractor {

/// Of the processor on one thread, of the clock on several.
inline double seconds() {
  timespec now;
  clock_gettime(threads() == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Of this program alone; getrusage would count what its parent held before it started us.
inline std::size_t peak_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (std::size_t kilobytes = 0; word == "VmHWM:" && status >> kilobytes) return 1024 * kilobytes;
  return 0;
}

/// A main(): run(arguments), and one sentence with status 2 on bad input.
template <class Run>
int timing_program(const char* name, int count, char** values, const Run& run) {
  try {
    run(std::vector<std::string>(values + 1, values + count));
    return 0;
  } catch (const Error& error) {
    fmt::print(stderr, "{}: {}\n", name, error.what());
    return 2;
  }
}

}  // namespace attractor
