// The two sums of attention over the tokens of one input, rows x_t of dim numbers:
//
//   products:     out_t = <x_t, u>                          logits, scores
//   differences:  out   = sum_t c_t (x_t - origin)          what moves the query
//
// Differences are taken before the sum, so that tokens sharing a large offset lose no digits. One
// pass over the rows each: memory or cache bandwidth is the limit. Rows may be stored as floats,
// which take half of it; the sums are those of the same numbers as doubles.
#pragma once

#include <cstddef>
#include <span>

namespace attractor::kernels {

/// rows.size() = out.size() * u.size().
void row_products(std::span<const double> rows, std::span<const double> u, std::span<double> out);
void row_products(std::span<const float> rows, std::span<const double> u, std::span<double> out);

/// rows.size() = c.size() * out.size(); rows with c_t = 0 count as nothing. ahead: as many rows,
/// which are read next: a quarter of them is brought from memory meanwhile. May be empty.
void weighted_differences(std::span<const double> rows, std::span<const double> c,
                          std::span<const double> origin, std::span<double> out,
                          std::span<const double> ahead = {});
void weighted_differences(std::span<const float> rows, std::span<const double> c,
                          std::span<const float> origin, std::span<double> out,
                          std::span<const float> ahead = {});

}  // namespace attractor::kernels
