// Logit rows (attention_rows.hpp) for many coordinates: eight times twelve rows against a chunk of
// columns, as register tiles of <q_i, k_j>, then weights, then pulls w_ij (v_j - v_i) with lanes
// over the coordinates. The peak of a row rises at most once a chunk. Sums have a fixed order: same
// bits for any number of threads, any choice of rows and, among targets with FMA, any vector
// length. Memory: a copy of the keys and of the values.
#pragma once

#include <cstdint>
#include <span>

#include "attractor/kernels/dense/row_sums.hpp"
#include "attractor/kernels/dense/single_rows.hpp"

namespace attractor::kernels {

/// Whether the panels are faster than one lane a row.
bool logit_panels_apply(const LogitSources& sources, Precision precision = Precision::f64);

void logit_panels(const LogitSources& sources, std::span<const std::uint32_t> rows,
                  const RowSums& out, Precision precision = Precision::f64);

/// out_i = M x_i for each row x_i of length dim; M has rows of length dim.
void row_products(std::span<const double> rows, std::span<const double> matrix, std::size_t dim,
                  std::span<double> out, Precision precision = Precision::f64);

}  // namespace attractor::kernels
