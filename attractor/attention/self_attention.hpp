// What a token makes of itself. With weights P_ij and values v_j,
//
//   include           y_i = sum_j P_ij v_j
//   exclude           the same over j != i: neither the sum nor its normaliser has the own token
//   remove-own-value  y_i - <y_i, v_i> v_i / |v_i|^2, head by head: exclusive self-attention
//                     (arXiv 2603.09078)
//
// With identity values on the sphere what the last one leaves is tangent already: lengths of tokens
// stay what they are, and pre-norm is post-norm. A token that excludes itself and sees no other
// one (the first one under a causal mask) gets 0.
#pragma once

#include "attractor/base/named.hpp"

namespace attractor {

enum class SelfAttention { include, exclude, remove_own_value };
inline std::span<const std::string_view> names(SelfAttention) {
  static constexpr std::string_view kNames[] = {"include", "exclude", "remove-own-value"};
  return kNames;
}

}  // namespace attractor
