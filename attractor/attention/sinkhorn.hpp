// Sinkhorn's normalisation of a kernel: potentials f, g such that P_ij = e^{l_ij + f_i + g_j} has
// rows and columns that sum to 1 (Sander, Ablin, Blondel, Peyre: arXiv 2110.11773). In logarithms,
// O(n) memory, one pass over the logits for every half iteration.
//
// In general rows and columns are normalised in turn, with Anderson acceleration (5 to 20 times
// fewer iterations than plain turns; still slow when beta |Q^T K| is far above 100, where the
// problem becomes an assignment). A symmetric kernel has f = g; there
//   f <- f - (2/3)(f + s),   s_i = ln sum_j e^{l_ij + f_j},
// shrinks the error to a third or less each time if the kernel is positive semidefinite (as
// e^{beta <Qx, Qy>} is), however large beta.
#pragma once

#include <cstddef>
#include <vector>

#include "attractor/attention/logits.hpp"

namespace attractor {

struct SinkhornLimits {
  double tolerance = 1e-12;  // of every row and column sum; the rounding of large logits is allowed
  std::size_t max_iterations = 1000;
};

struct SinkhornPotentials {
  std::vector<double> rows, columns;  // f, g
  std::size_t iterations = 0;
  double error = 0;  // largest |row or column sum - 1|
  bool converged = false;
};

/// `symmetric`: l_ij = l_ji. The mask must not be causal.
SinkhornPotentials sinkhorn(const Logits& logits, bool symmetric, const SinkhornLimits& limits);

}  // namespace attractor
