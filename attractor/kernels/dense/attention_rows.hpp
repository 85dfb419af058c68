// Rows of attention, fused: for each target row i over n weighted sources j != i,
//
//   w_ij   = m_j exp(l_ij - peak_i)                       never stored: O(rows + n) memory
//   pull_i = sum_j w_ij (v_j - v_i)      weight_i = sum_j w_ij      moment_i = sum_j w_ij l_ij
//
// distance rows: l_ij = shift - beta |x_i - x_j|^2 / 2, peak_i = 0. On the sphere this is the
// softmax
//   logit beta(<x_i,x_j> - 1); written with differences it keeps full relative accuracy inside
//   clusters.
// logit rows:    l_ij = beta <q_i, k_j>, peak_i = max_{j != i} l_ij, found on the way.
//
// The own token i is left out (its difference is zero and its weight is known to the caller), so a
// pull of 1e-300 is as accurate as one of 1. Each row is summed over j in order by one SIMD lane,
// or for logit rows of many coordinates as logit_panels.hpp does: the result does not depend on the
// number of threads, nor on the vector length among targets with FMA. Cost: about 4 dim + 25
// operations a pair, fewer in logit_lanes.hpp. All distance rows at once: symmetric_rows.hpp is
// faster. In f32 (single_rows.hpp) logit rows are taken where lanes or panels apply, else in f64.
#pragma once

#include <cstdint>
#include <span>

#include "attractor/kernels/dense/row_sums.hpp"
#include "attractor/kernels/dense/single_rows.hpp"

namespace attractor::kernels {

/// `rows` lists the target tokens; empty means all n.
void distance_rows(const DistanceSources& sources, std::span<const std::uint32_t> rows,
                   const RowSums& out);
void logit_rows(const LogitSources& sources, std::span<const std::uint32_t> rows,
                const RowSums& out, Precision precision = Precision::f64);

/// The same sums in plain loops: what the fused ones are tested against.
void distance_rows_reference(const DistanceSources& sources, std::span<const std::uint32_t> rows,
                             const RowSums& out);
void logit_rows_reference(const LogitSources& sources, std::span<const std::uint32_t> rows,
                          const RowSums& out);

}  // namespace attractor::kernels
