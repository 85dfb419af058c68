// Energy, its dissipation and the entropy of attention, from rows of the attention map.
//
//   E      = (1 / 2 beta N^2) sum_ij e^{beta <Q x_i, K x_j>}  <=  e^beta / 2 beta   (identity
//   weights) dE/dt  = (1/N) sum_i (Z_i/N) |x_i'|^2  (SA),   (1/N) sum_i |x_i'|^2  (USA) (identity
//   weights) H      = mean_i of the Shannon entropy (nats) of softmax row i
//
// E overflows for beta > 709, so its logarithm is the primary result. At beta = 0 the constant 1/2
// beta is dropped: E = |sum x|^2 / 2 N^2. Up to `exact_limit` tokens, and up to 512, all rows are
// summed; beyond, 128 to 512 rows (at most twice as many where tokens differ much) drawn in strata
// of alike weight (row_sample.hpp, close_weights.hpp) give means with standard errors, and apart
// from these a bound of what the rows may not show: with u tokens a cluster is missed once in e
// times, and no pair left out by the search weighs more than c, so E may miss u^2 c / 2 beta N^2.
// An error of 0 means exact. Cost: rows * n * dim + the search.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "attractor/attention/attention.hpp"

namespace attractor::observe {

struct Energy {
  double log_energy = 0;
  double relative_error = 0;   // standard error of E / E; 0: exact
  double relative_unseen = 0;  // what clusters too loose for the search may add, at most
  double log_dissipation = 0;  // -infinity when nothing moves; NaN where no formula holds
  double dissipation_relative_error = 0;  // infinite where only a bound is known
  double dissipation_relative_unseen = 0;
  double entropy = 0, entropy_error = 0, entropy_unseen = 0;
  bool sampled = false;
};

Energy energy(const Attention& attention, std::span<const double> tokens,
              std::span<const double> masses, std::uint64_t seed, std::size_t exact_limit = 4096);

}  // namespace attractor::observe
