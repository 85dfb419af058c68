// Which tokens a token sees, and how distance along the sequence is charged. Token i of n sees j
// when |i - j| <= window and, if causal, j <= i: always an interval that contains i itself. Every
// logit is lowered by slope |i - j| (ALiBi, arXiv 2108.12409).
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>

#include "attractor/base/named.hpp"

namespace attractor {

enum class MaskKind { full, causal };
inline std::span<const std::string_view> names(MaskKind) {
  static constexpr std::string_view kNames[] = {"full", "causal"};
  return kNames;
}

struct Mask {
  static constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();

  bool causal = false;
  std::size_t window = kUnlimited;
  double slope = 0;

  /// Tokens first .. last - 1.
  struct Interval {
    std::size_t first, last;
    std::size_t count() const { return last - first; }
  };
  Interval visible(std::size_t i, std::size_t n) const {
    const std::size_t ahead = causal ? 0 : std::min(window, n - 1 - i);
    return {i - std::min(window, i), i + ahead + 1};
  }
};

}  // namespace attractor
