// Rows of attention between two blocks of tokens: the sums of attention_rows.hpp for the targets i
// of one block over all sources j of another one, none of which is left out,
//
//   pull_i = sum_j m_j e^{l_ij - peak_i} (v_j - v_i),   weight_i, moment_i, peak_i alike,
//
// for tokens that are spread over several machines. Sums of two blocks are joined by add_rows.
// The peak of a logit row is at least its largest logit; weights that are e^{-708} of what the row
// has within its own block may be dropped. Same bits for any number of threads. Memory: one copy of
// the sources.
#pragma once

#include <functional>
#include <span>

#include "attractor/kernels/dense/row_sums.hpp"

namespace attractor::kernels {

/// What l_ij and v_j - v_i need to know of the targets.
struct BlockTargets {
  std::span<const double> points;  // rows x dim; queries for logit rows
  std::span<const double> keys;    // rows x dim; logit rows only
  std::span<const double> values;  // rows x dim; empty as those of distance sources may be
};

/// `between` is called now and then, by the calling thread, while none of the others works.
void distance_rows_between(const BlockTargets& targets, const DistanceSources& sources,
                           const RowSums& out, const std::function<void()>& between = {});
/// The queries of `sources` are not used.
void logit_rows_between(const BlockTargets& targets, const LogitSources& sources,
                        const RowSums& out, const std::function<void()>& between = {});

/// Adds weight and pull of further sources to those of the same rows; both have a peak.
void add_rows(const RowSums& more, std::size_t dim, const RowSums& sums);

}  // namespace attractor::kernels
