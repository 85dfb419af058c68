// Energy, its dissipation and the entropy of attention, from rows of the attention map.
//
//   E      = (1 / 2 beta N^2) sum_ij e^{beta <Q x_i, K x_j>}  <=  e^beta / 2 beta   (identity
//   weights) dE/dt  = (1/N) sum_i (Z_i/N) |x_i'|^2  (SA),   (1/N) sum_i |x_i'|^2  (USA) (identity
//   weights) H      = mean_i of the Shannon entropy (nats) of softmax row i
//
// E overflows for beta > 709, so its logarithm is the primary result. At beta = 0 the constant 1/2
// beta is dropped: E = |sum x|^2 / 2 N^2. Up to `exact_limit` tokens all rows are summed; beyond,
// 512 original tokens drawn at random give unbiased means with standard errors. Cost: rows * n *
// dim.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "attractor/attention/attention.hpp"

namespace attractor::observe {

struct Energy {
  double log_energy = 0;
  double relative_error = 0;   // standard error of E / E; 0 unless sampled
  double log_dissipation = 0;  // -infinity when nothing moves; NaN where no formula holds
  double entropy = 0, entropy_error = 0;
  bool sampled = false;
};

Energy energy(const Attention& attention, std::span<const double> tokens,
              std::span<const double> masses, std::uint64_t seed, std::size_t exact_limit = 4096);

}  // namespace attractor::observe
