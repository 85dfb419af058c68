// Statistics of all pairs on the circle, exact in O(n) (tokens/circle_order.hpp). Two tokens with
// cosine c are arccos c apart, so the pairs with cosine >= c are those of
//
//   sum_i m_i (mass within arccos c ahead of token i),   each pair once,
//
// and a token's reach only moves ahead as one walks around. The pair of smallest cosine is one of
// those nearest to opposite each other. One walk for each edge of the histogram: 99 n.
#pragma once

#include <span>

#include "attractor/observe/pair_statistics.hpp"
#include "attractor/tokens/circle_order.hpp"

namespace attractor::observe {

/// What pair_statistics() says, without error. `histogram`: else it is left empty.
PairStatistics circle_pair_statistics(const CircleOrder& order, std::span<const double> tokens,
                                      std::span<const double> masses, double threshold,
                                      bool histogram);

}  // namespace attractor::observe
