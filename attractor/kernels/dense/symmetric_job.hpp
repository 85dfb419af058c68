// What the loops of symmetric_rows.cpp share: the tokens and sums in the layouts they want, for T =
// double or float. Sums over many tokens are doubles; a T holds at most 256 terms.
#pragma once

#include <cstddef>

namespace attractor::kernels {

// Sums over j are kept in interleaved parts (j mod kParts, a cache line of them) on every target.
template <class T>
constexpr std::size_t kParts = 64 / sizeof(T);
template <class T>
constexpr std::size_t kStrip = 2 * kParts<T>;  // columns of a register tile of distances
constexpr std::size_t kLargestFusedDim = 4;
constexpr std::size_t kColumnsMost = 256;
constexpr std::size_t kFusedBlock = 512;  // tokens of a block

struct Range {
  std::size_t begin, end;
};

// Tokens and sums as the loops want them; `padded` tokens, those beyond n at the origin.
//   fused (dim <= 4): points and pull [a][padded]
//   wide: strips [padded/kStrip][dim][kStrip] for distances (lanes over tokens);
//         points and pull [padded/8][panel][8 tokens][kParts coordinates] for pulls (lanes over
//         coordinates), a cache line between groups of eight so that they do not share cache sets
template <class T>
struct SymmetricJob {
  std::size_t dim, n, padded, panels;
  T factor;    // exponent of a weight, in the steps of exp-inl.hpp, of squared distance 1
  T limit;     // squared distance from which a weight is 0
  T lowest;    // exponent from which on a weight is 0
  bool plain;  // equal masses, no weight near underflow, no moments
  bool wants_pull;
  const T* masses;           // [padded] over the smallest, 0 beyond n
  const T *points, *strips;  //
  const T* lengths;          // [padded] exponents of the squared lengths
  double *pull, *weight, *moment;

  std::size_t group() const { return (8 * panels + 1) * kParts<T>; }
  std::size_t at(std::size_t token, std::size_t panel) const {
    return token / 8 * group() + (panel * 8 + token % 8) * kParts<T>;
  }
};

// Sums of columns from `origin` on, in the layout of the job's, `stride` in the place of `padded`.
template <class T>
struct Columns {
  std::size_t origin, stride;
  T *pull, *weight, *moment;
};

}  // namespace attractor::kernels
