// What a trained prompt p and a linear head v make of inputs: s_i = softmax(X_i p) and f_i = <v,
// X_i^T s_i> (problem.hpp), for inputs that need no labels.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace attractor::training {

struct PromptAttention {
  std::vector<double> weight{};  // s: n x T
  std::vector<double> output{};  // f: n
};

/// x: n x T x d; prompt, v: d. All finite.
PromptAttention prompt_attention(std::span<const double> x, std::size_t tokens,
                                 std::span<const double> prompt, std::span<const double> v);

}  // namespace attractor::training
