// Statistics over the N (N - 1) ordered pairs of different original tokens; a token of mass m
// stands for m of them, whose mutual cosine is 1. Let u_i = x_i/|x_i| (tokens already of unit
// length are taken as they are) and c = sum_i m_i u_i / N. A zero token has u = 0: cosine 0 with
// every other original, even one merged with it.
//
//   order_parameter      = |c|
//   1 - mean_cosine      = sum_i m_i |u_i - c|^2 / (N - 1)  +  (mass of zero tokens) / N
//   1 - cosine(i, j)     = |u_i - u_j|^2 / 2
//   largest_angle        = 2 atan2(|u_i - u_j|, |u_i + u_j|)     of the pair of smallest cosine
//
// The first identity is N^2 - |sum m u|^2 = N sum m |u - c|^2 on the sphere. All are sums of
// squares of differences, so nothing cancels near consensus: 1 - cos = 1e-20 keeps its digits.
// Cost: n dim for the mean; n^2 dim / 2 for the pairs; when sampled, 512 n dim (2^26 pairs at most,
// or 64 rows) and the search of close_weights.hpp; memory O(n dim).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "attractor/observe/pair_statistics.hpp"

namespace attractor::observe {

/// With fewer than two originals there is no pair; both structs then say consensus.
struct MeanCosine {
  double mean_cosine = 1;
  double one_minus_mean_cosine = 0;
  double order_parameter = 1;
};

/// Tokens: n x dim, row-major, n >= 1; masses: n whole numbers >= 1, sum below 9e7 (its square
/// counts pairs exactly).
MeanCosine mean_cosine(std::span<const double> tokens, std::size_t dim,
                       std::span<const double> masses);

/// Exact for n <= exact_limit, for as many tokens as rows would be drawn (512), and on the circle
/// (circle_pairs.hpp; off it, not of unit length, lie zeros and tokens of R^2). Otherwise close
/// pairs are counted, by a tree of balls (tokens/close_counts.hpp) or token by token where a search
/// finds all of them; crowds beyond 64 to 1024 close tokens that no tree can count, and the
/// histogram, are estimated from 64 to 512 rows of the matrix of pairs (at
/// most twice as many), drawn in strata of alike close mass (row_sample.hpp).
/// `histogram` false: it may be left empty, which saves most of the time where pairs are sampled.
PairStatistics pair_statistics(std::span<const double> tokens, std::size_t dim,
                               std::span<const double> masses, double threshold, std::uint64_t seed,
                               std::size_t exact_limit = 4096, bool histogram = true);

}  // namespace attractor::observe
