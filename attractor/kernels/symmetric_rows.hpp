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
// Tokens form blocks; a round pairs every block with another one, so that the pairs of a round
// write to different rows, and rounds follow each other. The order of every sum is fixed by n and
// dim: the bits depend neither on the number of threads nor, among targets with FMA, on the vector
// length. They do differ from those of attention_rows.hpp, which sums in another order.
// Memory: three copies of the tokens.
#pragma once

#include <span>

#include "attractor/kernels/attention_rows.hpp"

namespace attractor::kernels {

/// Whether symmetric_rows may be used in the place of distance_rows for all rows, and is faster:
/// values are the points, no shift, masses positive and within 1e100 of each other, enough tokens.
bool symmetric_rows_apply(const DistanceSources& sources);

/// Fills weight, and pull and moment unless their spans are empty.
void symmetric_rows(const DistanceSources& sources, const RowSums& out);

}  // namespace attractor::kernels
