// Seventeen digits: every double has its own text.
#pragma once

#include <cstdio>
#include <string>

namespace attractor {

inline std::string exact(double x) {
  char text[64];
  std::snprintf(text, sizeof text, "%.17g", x);
  return text;
}

}  // namespace attractor
