// Rotary positions (RoPE): a query or key at position i is turned in the planes of two of its d
// coordinates, k < d/2, by the angle i w_k,
//
//   (a, b) <- s (a cos - b sin, a sin + b cos),    w_k = w_0 theta^{-2k/d},   w_0 = 1, s = 1,
//
// coordinates 2k and 2k + 1 (pairs, llama2.c) or k and k + d/2 (halves, Hugging Face). A logit
// then depends on i - j, not on i and j. For contexts longer than those trained on (n_0 positions)
// frequencies are changed by a factor f:
//
//   linear    w / f
//   ntk       theta <- theta f^{d/(d-2)}: the slowest is divided by f, the fastest stays
//   dynamic   theta <- theta (f n/n_0 - (f - 1))^{d/(d-2)} once n > n_0
//   llama3    w / f below a lowest number of turns within n_0, w above a highest, a blend between
//   yarn      w / f for slow ones, w for fast ones, a ramp between; s = 0.1 ln f + 1
//             (Peng, Quesnelle, Fan, Shippole 2309.00071)
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "attractor/base/named.hpp"

namespace attractor {

enum class RotaryLayout { none, pairs, halves };
inline std::span<const std::string_view> names(RotaryLayout) {
  static constexpr std::string_view kNames[] = {"none", "pairs", "halves"};
  return kNames;
}

enum class RotaryStretch { none, linear, ntk, dynamic, llama3, yarn };
inline std::span<const std::string_view> names(RotaryStretch) {
  static constexpr std::string_view kNames[] = {"none",    "linear", "ntk",
                                                "dynamic", "llama3", "yarn"};
  return kNames;
}

struct RotaryScaling {
  using Kind = RotaryStretch;
  Kind kind = Kind::none;
  double factor = 1;
  double low_frequency = 1, high_frequency = 4;  // llama3
  double original_positions = 0;                 // n_0 of dynamic, llama3, yarn
  double fast = 32, slow = 1;                    // yarn
  std::optional<double> attention_factor{};      // yarn; none: 0.1 ln(factor) + 1
};

struct Rotary {
  RotaryLayout layout = RotaryLayout::none;
  double theta = 10000;
  double fastest = 1;  // w_0, radians a position
  RotaryScaling scaling{};

  bool present() const { return layout != RotaryLayout::none; }
};

struct RotaryWaves {
  std::vector<double> frequencies;  // d/2
  double scale = 1;                 // s
};

/// Of vectors of this even dimension, among so many tokens.
RotaryWaves rotary_waves(const Rotary& rotary, std::size_t dim, std::size_t tokens);

/// Turns rows of this even dimension, the i-th being at position i.
void turn_rows(const Rotary& rotary, std::span<double> rows, std::size_t dim);

}  // namespace attractor
