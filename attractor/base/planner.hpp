// FFTW's planner is the one part of it that threads must not enter together: every plan is made and
// destroyed under this lock.
#pragma once

#include <mutex>

namespace attractor {

inline std::mutex& planner() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace attractor
