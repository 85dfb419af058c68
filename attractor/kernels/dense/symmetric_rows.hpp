// Distance rows of all tokens at once, each pair taken once. With w_ij = exp(-beta |x_i - x_j|^2/2)
//
//   pull_i = sum_{j != i} m_j w_ij (x_j - x_i)     weight_i = sum m_j w_ij
//   moment_i = sum m_j w_ij l_ij,  l_ij = ln w_ij
//
// the weight and the difference of a pair serve both its rows: 3 dim multiply-adds and one
// exponential for two ordered pairs, against 4 dim and two in attention_rows.hpp. Sums are taken in
// differences, or where tokens are 1/4 or more apart in a way that loses at most eight roundings of
// a term, so pulls inside clusters keep their relative accuracy. The rounding of |x_i - x_j|^2
// moves a weight by beta 1e-15 of itself at most; a weight below 1e-307 is 0.
//
// Tokens form blocks; a round of a tournament pairs every block with another one, and a pair waits
// for nothing but the pairs of its two blocks in the round before. The order of every sum is fixed
// by n and dim: the bits depend neither on the number of threads nor, among targets with FMA, on
// the vector length. They do differ from those of attention_rows.hpp, which sums in another order.
// Memory: three copies of the tokens. In f32: single_rows.hpp.
#pragma once

#include <span>

#include "attractor/kernels/dense/row_sums.hpp"
#include "attractor/kernels/dense/single_rows.hpp"

namespace attractor::kernels {

/// Whether symmetric_rows may be used in the place of distance_rows for all rows, and is faster:
/// values are the points, no shift, masses positive and within 1e100 of each other, enough tokens.
bool symmetric_rows_apply(const DistanceSources& sources);

/// Fills weight, and pull and moment unless their spans are empty. Masses further than 1e6 apart
/// are taken in f64.
void symmetric_rows(const DistanceSources& sources, const RowSums& out,
                    Precision precision = Precision::f64);

}  // namespace attractor::kernels
