// The weight of what is close to each token, found before rows are drawn (row_sample.hpp), so that
// no heavy row hides among many light ones. It is the sum of its pairs above a level: pairs within
// a gap count one; logits l count e^l. Levels form a ladder, lowest (widest) first: a token with
// fewer close ones than a crowd (32 to 1024) is done, its weight exact; of a crowd the part below
// the next level is estimated from the first ones met in random order, the rest left to the next
// level. A token compared with too many (2^28 to 2^30 over all tokens and a level) has not
// been seen at that level: `ceiling` is the weight that one of its pairs may have unseen.
// Cost: so many comparisons at most (tokens/close_search.hpp), few where tokens spread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "attractor/attention/attention.hpp"
#include "attractor/observe/row_sample.hpp"

namespace attractor::observe {

/// Known to have no weight close by.
CloseWeights nothing_close(std::size_t tokens);

/// directions: n x dim unit vectors, or zeros for a token without direction, close to none. Weight:
/// the mass of other tokens with |u_i - u_j|^2 / 2 <= gap, 0 <= gap < 1.
CloseWeights close_masses(std::span<const double> directions, std::size_t dim,
                          std::span<const double> masses, double gap);

/// Logits l - unit from `lowest` on are looked for, with more effort from `essential` on.
struct LogitRange {
  double unit = 0, lowest = 0, essential = 0;
};

/// Weight sum_j m_j e^{l_ij - unit} over j != i on the sphere with identity weights (there the unit
/// must be beta), over all j else.
CloseWeights close_logits(const Attention& attention, std::span<const double> tokens,
                          std::span<const double> masses, const LogitRange& range);

}  // namespace attractor::observe
