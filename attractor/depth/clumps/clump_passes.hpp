// The two passes over the tokens of clumps (clump_sums.hpp): moments of each clump as seen from
// each, and rows from them. Tokens lie clump by clump; pieces of clumps are shared out to threads,
// and what they sum is added in order.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "attractor/depth/clumps/clump_plan.hpp"

namespace attractor::depth {

/// Tokens of one clump, by their place in the order.
struct ClumpPiece {
  std::size_t clump, begin, end;
};

/// Tokens in clumps, and what is known of them.
struct GatheredClumps {
  std::size_t dim = 0;
  double beta = 1;
  std::vector<double> offsets;     // xi, tokens x wide
  std::vector<double> masses;      // tokens
  std::vector<ClumpPiece> pieces;  // in order
  ClumpTables tables;
};

/// Copies tokens in the order of the clumps; centres, offsets and radii.
GatheredClumps gather_clumps(const ClumpSources& sources, const ClumpPartition& partition);
/// Tables of moments.
void sum_moments(GatheredClumps& clumps);
/// Sums of all pairs of clumps that are not direct, for tokens in the order of the clumps: pull,
/// tokens x wide, and weight less that of the token itself.
void sum_rows(const GatheredClumps& clumps, const ClumpPlan& plan, std::span<double> pull,
              std::span<double> weight);

}  // namespace attractor::depth
