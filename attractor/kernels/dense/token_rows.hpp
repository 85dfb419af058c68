// The two sums of attention over the tokens of one input, rows x_t of dim doubles:
//
//   products:     out_t = <x_t, u>                          logits, scores
//   differences:  out   = sum_t c_t (x_t - origin)          what moves the query
//
// Differences are taken before the sum, so that tokens sharing a large offset lose no digits. One
// pass over the rows each: memory or cache bandwidth is the limit.
#pragma once

#include <cstddef>
#include <span>

namespace attractor::kernels {

/// rows.size() = out.size() * u.size().
void row_products(std::span<const double> rows, std::span<const double> u, std::span<double> out);

/// rows.size() = c.size() * out.size(); rows with c_t = 0 count as nothing.
void weighted_differences(std::span<const double> rows, std::span<const double> c,
                          std::span<const double> origin, std::span<double> out);

}  // namespace attractor::kernels
