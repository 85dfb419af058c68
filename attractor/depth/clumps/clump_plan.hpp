// Which order each clump is seen at by each other, from their moments (clump_sums.hpp has the
// bounds), and what error that leaves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attractor/depth/clumps/clump_partition.hpp"

namespace attractor::depth {

struct ClumpOutcome {
  bool taken = false;  // else dense rows are quicker: nothing was summed
  double cost = 0;     // expected, over that of dense rows
  // Bounds of errors of sum_j w_ij (x_j - x_i) over Z_i, or over the sum of masses:
  double relative = 0;               // over the terms of the same row, rounding included
  double absolute = 0;               // beside rounding
  double weight = 0;                 // of Z_i, over Z_i
  std::size_t pairs[3] = {0, 0, 0};  // of clumps, summed to order 0, order 1 and directly
};

struct ClumpSources {
  ClumpTask task{};
  std::span<const double> points;  // n x dim
  std::span<const double> masses;  // n
  bool softmax = true;             // what `absolute` is over: Z_i, or the sum of masses
  double most_of_dense = 0.7;      // the share of the time of dense rows that is worth while
};

enum class ClumpOrder : std::uint8_t { zero, one, direct };

/// Centres, extents and, of each clump b as seen from each a, moments.
struct ClumpTables {
  std::size_t clumps = 0, wide = 0, columns = 0;  // wide: dim, columns: clumps; padded
  std::vector<double> centres;                    // clumps x wide
  std::vector<double> radius, spread;             // largest |xi|; S seen from itself
  std::vector<double> mass;                       // M0: [b][a], clumps x columns
  std::vector<double> first;                      // M1: [b][a][coordinate]
  std::vector<double> second;                     // M2 as seen from itself: [b], wide x wide
  std::vector<double> stretch;                    // a bound of its largest eigenvalue: |M2|_F

  const double* centre(std::size_t a) const { return &centres[a * wide]; }
  double m0(std::size_t b, std::size_t a) const { return mass[b * columns + a]; }
  const double* m1(std::size_t b, std::size_t a) const { return &first[(b * columns + a) * wide]; }
};

struct ClumpPlan {
  std::vector<ClumpOrder> order;  // [a][b]
  std::vector<double> coupling;   // E_ab
  ClumpOutcome outcome;
  double direct_pairs = 0;

  /// Targets a, sources b.
  ClumpOrder at(std::size_t a, std::size_t b, std::size_t clumps) const {
    return order[a * clumps + b];
  }
};

ClumpPlan plan_clumps(const ClumpSources& sources, const ClumpPartition& partition,
                      const ClumpTables& tables);

}  // namespace attractor::depth
