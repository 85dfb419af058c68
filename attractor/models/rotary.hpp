// Rotary positions: with the frequencies w_k, k < d_head/2, a query or key at position i is turned
// in the plane of two of its coordinates by the angle i w_k,
//
//   (a, b) <- s (a cos - b sin, a sin + b cos),    w_k = theta^{-2k/d_head},  s = 1,
//
// coordinates k and k + d_head/2 (halves, Hugging Face) or 2k and 2k + 1 (pairs, llama2.c). For
// longer contexts than those trained on frequencies are changed:
//
//   linear    w / f
//   dynamic   theta <- theta (f n/n_0 - (f - 1))^{d/(d-2)} once n > n_0
//   llama3    w / f below a lowest number of turns within n_0, w above a highest, a blend between
//   yarn      w / f for slow ones, w for fast ones, a ramp between; s = 0.1 ln f + 1
//             (Peng, Quesnelle, Fan, Shippole 2309.00071)
#pragma once

#include <cstddef>
#include <vector>

#include "attractor/models/architecture.hpp"

namespace attractor::models {

class Rotary {
 public:
  /// Of this many tokens.
  Rotary(const Architecture& a, std::size_t tokens);

  /// Turns `heads` vectors of head_dim that lie one after the other, all at this position.
  void turn(float* vectors, std::size_t heads, std::size_t position) const;
  double scale() const { return scale_; }
  const std::vector<double>& frequencies() const { return frequencies_; }

 private:
  std::size_t half_;
  bool pairs_;
  double scale_ = 1;
  std::vector<double> frequencies_;
  std::vector<float> cosines_, sines_;  // tokens x half
};

}  // namespace attractor::models
