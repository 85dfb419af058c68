// The two passes of circle_field.hpp over a block of tokens: power sums of the cells, and the
// cells' polynomials back at the tokens. The coordinate in a cell is u = -1 .. 1. One call for a
// block of thousands of tokens, vectors inside.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "attractor/base/numbers.hpp"
#include "attractor/kernels/field_out.hpp"

namespace attractor::kernels {

/// Consecutive tokens in one cell.
struct CirclePiece {
  std::uint32_t cell, count;
};

/// What one thread finds in one block of tokens.
struct CircleBlock {
  std::size_t begin = 0, end = 0;
  bool in_order = true;
  std::vector<CirclePiece> pieces;
  std::vector<double> moments;  // pieces x powers, then room
  double smallest_partition = 1, largest_mean = 0, largest_pull = 0;
};

struct CircleJob {
  const double *angles, *weights;  // weights null: equal
  std::size_t tokens, cells, powers;
  double origin, width;
  const double* rows = nullptr;  // (powers + 1) x stride: polynomials of D, then Z at the centres
  std::size_t stride = 0;
  double beta = 0, total = 1, negligible = 0;
  const CircleFieldOut* out = nullptr;

  double centre(std::size_t cell) const {
    return origin + (static_cast<double>(cell) + 0.5) * width;
  }
  double edge(std::size_t cell) const {
    return cell + 1 == cells ? kInfinity : origin + static_cast<double>(cell + 1) * width;
  }
  /// `cells` for an angle that is nowhere near the circle's one turn.
  std::size_t cell(double angle) const {
    const double at = (angle - origin) / width, most = static_cast<double>(cells);
    if (!(at > -1 && at < most + 1)) return cells;
    return static_cast<std::size_t>(std::clamp(at, 0.0, most - 1));
  }
};

/// Fills pieces, moments and in_order of the block; stops at the first token out of order.
void gather_moments(const CircleJob& job, CircleBlock& block);
/// The field at the tokens of a gathered block, and its extremes.
void evaluate_polynomials(const CircleJob& job, CircleBlock& block);

}  // namespace attractor::kernels
