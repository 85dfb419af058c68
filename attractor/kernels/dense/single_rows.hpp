// Attention rows in single precision: float arithmetic, lanes twice as many, sums of more than 256
// terms in double. What it costs, relative to the sum of the sizes of a row's terms:
//
//   2e-6 + (2e-7 + 2e-8 sqrt(dim)) L     L: largest |logit|; 2 beta for distance rows on the sphere
//
// (a bound on what single_rows_test.cpp measures for random, clustered and collapsed tokens; the
// second part is the rounding of a logit, which its weight feels as a relative error). Tokens are
// moved to a common origin and then rounded to 24 bits, so among tokens spread over D a separation
// s is known to 1.2e-7 D / s of itself: pulls inside clusters tighter than 3e-4 keep three digits,
// and separations below 1e-7 are lost. A velocity is what is left of the terms of a row, so its
// error is absolute, a share of the fastest possible motion (depth/attention_output.hpp): one whose
// pulls cancel, or slower than that, has no digits. So f64 for metastable phases, exit times and
// beta >= 100.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <string_view>

namespace attractor::kernels {

enum class Precision { f64, f32 };
inline std::span<const std::string_view> names(Precision) {
  static constexpr std::string_view kNames[] = {"double", "single"};
  return kNames;
}

/// The bound above for one evaluation in single precision.
inline double single_error(double largest_logit, std::size_t dim) {
  return 2e-6 + (2e-7 + 2e-8 * std::sqrt(static_cast<double>(dim))) * largest_logit;
}

}  // namespace attractor::kernels
