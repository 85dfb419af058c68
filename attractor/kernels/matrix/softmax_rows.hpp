// Softmax over the keys that each token sees, in single precision. Of a row of products l_ij,
//
//   l_ij <- scale l_ij,    p_ij = e^{l_ij - peak_i} / sum over seen j,    0 where nothing is seen.
//
// Every mask of a model is a range of keys for each token (all, those before it, a window).
// Exponentials below e^{-87} count as 0. Cost: about as much as 16 multiply-adds for each pair.
#pragma once

#include <cstddef>
#include <span>

namespace attractor::kernels {

/// Keys [first, last).
struct KeyRange {
  std::size_t first, last;
};

/// logits and chances: rows of `keys` numbers, one for each range. No range is empty.
void softmax_rows(std::span<float> logits, std::size_t keys, float scale,
                  std::span<const KeyRange> seen, std::span<float> chances);

/// The same in plain loops and double precision: what the other is tested against.
void softmax_rows_reference(std::span<float> logits, std::size_t keys, float scale,
                            std::span<const KeyRange> seen, std::span<float> chances);

}  // namespace attractor::kernels
