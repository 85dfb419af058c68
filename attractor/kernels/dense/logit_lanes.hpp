// Logit rows (attention_rows.hpp) for two to four coordinates and logits known to be bounded:
// |l_ij|
// <= beta max|q| max|k| <= 300 (float: 40). No peak to follow: 4 dim + 20 operations a pair.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "attractor/kernels/dense/row_sums.hpp"
#include "attractor/kernels/dense/single_rows.hpp"

namespace attractor::kernels {

/// Whether logit_lanes may be used, and is faster.
bool logit_lanes_apply(const LogitSources& sources, Precision precision);

void logit_lanes(const LogitSources& sources, std::span<const std::uint32_t> rows,
                 const RowSums& out, Precision precision);

constexpr std::size_t kLaneChunk = 256;  // sources of which sums are kept in T

template <class T>
struct LanesJob {
  std::size_t dim, n;
  std::size_t stride;     // of sources: 2 dim + 1
  const double* queries;  // [n][dim]
  const T* sources;       // [n][stride]: key, value, mass
  double scale;           // makes a query's products exponents
  double mass;            // of every source, or 0 if they differ
  const std::uint32_t* rows;
  const RowSums* out;
  std::size_t row(std::size_t k) const { return rows ? rows[k] : k; }
};

}  // namespace attractor::kernels
