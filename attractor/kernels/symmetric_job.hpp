// What the loops of symmetric_rows.cpp share: the tokens and sums in the layouts they want.
#pragma once

#include <cstddef>

namespace attractor::kernels {

// Sums over j are kept in eight interleaved parts (j mod 8) on every target.
constexpr std::size_t kParts = 8;
constexpr std::size_t kStrip = 16;  // columns of a register tile of distances
constexpr std::size_t kLargestFusedDim = 4;
constexpr std::size_t kColumnsMost = 256;

struct Range {
  std::size_t begin, end;
};

// Tokens and sums as the loops want them; `padded` tokens, those beyond n at the origin.
//   fused (dim <= 4): points and pull [a][padded]
//   wide: strips [padded/16][dim][16] for distances (lanes over tokens);
//         points and pull [padded/8][panel][8 tokens][8 coordinates] for pulls (lanes over
//         coordinates), a cache line between groups of eight so that they do not share cache sets
struct SymmetricJob {
  std::size_t dim, n, padded, panels;
  double factor;     // 8 log2 of a weight is factor times the squared distance
  double limit;      // squared distance from which a weight is 0
  double half_beta;  // minus the logit of squared distance 1
  bool plain;        // equal masses, no weight near underflow, no moments
  bool wants_pull;
  const double* masses;                     // [padded] over the smallest, 0 beyond n
  const double *points, *strips, *lengths;  // lengths: [padded] squared
  double *pull, *weight, *moment;

  std::size_t group() const { return 64 * panels + 8; }
  std::size_t at(std::size_t token, std::size_t panel) const {
    return token / 8 * group() + panel * 64 + token % 8 * 8;
  }
};

}  // namespace attractor::kernels
