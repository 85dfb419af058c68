// Components of tokens in any dimension by a tree of boxes. A node halves its tokens along the
// coordinate in which they spread most, down to leaves of 16. Two nodes are left alone
//
//   - if their boxes are further apart than the radius, or all their tokens along the line through
//     the middles of the boxes,
//   - if all tokens of both are known to be of one component already,
//
// and joined without a look at their tokens if all of either are of one component and both boxes
// together are not wider than the radius. Everything else goes down to pairs of tokens. Boxes err
// on the side of looking: every decision that is close is left to the distance of two tokens, so
// the result is that of all pairs, whatever the order or the number of threads. O(n log n) where
// most tokens are in clumps, or spread over many radii; n^2 at worst, for tokens that all have
// others just beyond the radius in every direction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace attractor {

/// The first token of the component of each token.
std::vector<std::uint32_t> first_linked(std::span<const double> tokens, std::size_t dim,
                                        double radius);

}  // namespace attractor
