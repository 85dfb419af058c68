// The long-context layer (long_context.hpp) on tokens drawn at random: x_i = sqrt(rho) e_1 +
// sqrt(1-rho) v_i in R^d, the v_i independent and uniform on the unit sphere orthogonal to e_1.
// Cosines are then rho + (1-rho) t, t = <v_i, v_j> of mean 0 and variance 1/D, D = d - 1: almost
// equiangular. A sample of query rows attends to all n tokens, which are drawn in blocks and never
// stored: memory O((rows + block) d), time O(rows n d) for each replicate.
//
// What the fluctuations do, with k = beta (1-rho): E e^{k t} = L(k) = 0F1(; D/2; k^2/4), which is
// e^{k^2/2D} to first order, so the log odds of the own weight fall by ln L(k); attended tokens
// lean towards the query, E t = m = L'(k)/L(k), about k/D; and their squared weights gain
// L(2k)/L(k)^2. `expected` has these corrections; as d -> infinity it is the closed form. Measured
// means agree with it within the sampling error: |mean - expected| <= 4 standard errors, the
// standard error being that of the mean over independent replicates. This needs many tokens to
// share the attention: effective_tokens = n L(k)^2/L(2k) >> 1 (otherwise a few lucky tokens take
// it, and averages of e^{kt} say nothing).
//
// `exact` instead of a draw: sqrt(rho) e_0 + sqrt(1-rho) e_i in R^{n+1}, n coordinates that need no
// n x n matrix; differences from the closed form are then rounding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "attractor/long_context/long_context.hpp"

namespace attractor::meanfield {

struct ContextSimulation {
  ContextLayer layer{};        // tokens: a whole number, 2 to 1e5; rho >= 0
  std::size_t dim = 512;       // d, 3 to 65536; not used by `exact`
  std::size_t rows = 64;       // queries, at least 2; all tokens if there are fewer
  std::size_t replicates = 8;  // at least 2
  std::uint64_t seed = 0;
  bool exact = false;
  std::function<bool()> stop{};  // asked after every block of tokens
  std::function<void(double share)> progress{};
};

/// The mean over replicates and its standard error (0 for exact tokens).
struct Measured {
  double mean = 0, error = 0;
};

struct ContextSample {
  Measured self_weight, output_cosine, gap, entropy, angle_ratio;
  bool stopped = false;  // then nothing is measured
};

/// What a random draw gives on average; fields as in ContextSample.
struct ContextExpectation {
  double self_weight = 0, output_cosine = 0, gap = 0, entropy = 0, angle_ratio = 0;
  double log_odds_shift = 0;    // ln L(k)
  double effective_tokens = 0;  // tokens that share the attention of a row, but for its own
};

/// Throws Error on sizes outside the ranges above.
ContextSample simulate_context(const ContextSimulation& simulation);

/// The closed form with the corrections of dimension `dim`; for `exact` without.
ContextExpectation expected_context(const ContextSimulation& simulation);

}  // namespace attractor::meanfield
