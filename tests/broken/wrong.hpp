// How wrong this build is where mutate.py put WRONG(name) beside a number: 1 + ATTRACTOR_WRONG_BY
// (0.01 if it is not given) for the names that ATTRACTOR_WRONG lists, divided by commas, and 1 for
// all others.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace attractor {

inline double wrong_factor(std::string_view name) {
  const char *chosen = std::getenv("ATTRACTOR_WRONG"), *by = std::getenv("ATTRACTOR_WRONG_BY");
  for (std::string_view left = chosen ? chosen : ""; !left.empty();) {
    if (left.substr(0, left.find(',')) == name) return 1 + (by ? std::atof(by) : 0.01);
    left.remove_prefix(std::min(left.size(), left.substr(0, left.find(',')).size() + 1));
  }
  return 1;
}

}  // namespace attractor

#define WRONG(name)                                                      \
  ([] {                                                                  \
    static const double wrong_by_name = ::attractor::wrong_factor(name); \
    return wrong_by_name;                                                \
  }())
