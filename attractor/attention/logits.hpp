// The logits of one head, tile by tile: l_ij = beta <q_i, k_j> - slope |i - j| for the tokens j
// that i sees, or ln phi(|q_i - k_j|) - slope |i - j| for a radial kernel. Radial distances come
// from differences, so r is accurate inside clusters.
//
// A tile is a block of consecutive rows whose number depends on n alone and which is small enough
// for a cache; the n x n matrix is never stored. Tiles run concurrently and each row belongs to one
// of them: results do not depend on the number of threads.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "attractor/attention/mask.hpp"
#include "attractor/attention/rule.hpp"

namespace attractor {

struct Logits {
  std::size_t count = 0, rank = 0;
  std::span<const double> queries, keys;  // count x rank
  double beta = 1;
  Mask mask;
  std::optional<RadialKernel> kernel;  // set: radial

  /// Column j in place of row i (the mask must not be causal).
  Logits transposed() const;
};

/// Rows begin .. end - 1, all with the columns that any of them sees.
struct LogitTile {
  std::size_t begin, end;
  Mask::Interval columns;
  std::vector<double> values;

  /// The part of row i that lies in `part`, an interval within columns.
  std::span<double> row(std::size_t i, const Mask::Interval& part) {
    const std::size_t start = (i - begin) * columns.count() + part.first - columns.first;
    return std::span(values).subspan(start, part.count());
  }
};

/// Calls body with every tile, concurrently; the body may overwrite the tile and must not throw.
void for_each_tile(const Logits& logits, const std::function<void(LogitTile&)>& body);

/// The largest visible logit.
double largest_logit(const Logits& logits);

}  // namespace attractor
