// The passes of sphere_field.hpp over a block of tokens: into which cell each of them falls, power
// sums T_a(u) T_b(v) of the cells, and the cells' polynomials back at the tokens. One call for a
// block of thousands of tokens, vectors inside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "attractor/kernels/field_out.hpp"
#include "attractor/kernels/sphere/sphere_cells.hpp"

namespace attractor::kernels {

/// Tokens of one block in one cell.
struct SpherePiece {
  std::uint32_t cell, count;
};

struct SphereBlock {
  std::size_t begin = 0, end = 0;
  bool on_sphere = true;
  std::vector<SpherePiece> pieces;
  double smallest_partition = 1, largest_mean = 0, largest_pull = 0;

  /// Neighbours in memory mostly share a cell.
  bool in_order() const { return 256 * pieces.size() <= end - begin; }
};

struct SphereJob {
  const double *points, *weights = nullptr;  // weights null: equal
  const SphereCells* cells;
  std::uint32_t* order;  // tokens of each block, piece by piece, counted from its first
  const double *slope = nullptr, *along = nullptr;  // polynomials: cells x stride
  double beta = 0, mean_kernel = 1, total = 1;      // mean_kernel: of all the sphere, value_0
  const SphereFieldOut* out = nullptr;
};

/// Fills order, pieces and on_sphere of the block. `scratch` is resized as needed.
void sort_into_cells(const SphereJob& job, SphereBlock& block, std::vector<std::uint32_t>& scratch);
/// Adds the power sums of a sorted block, cells x stride.
void gather_moments(const SphereJob& job, const SphereBlock& block, double* moments);
/// The field at the tokens of a sorted block, and its extremes.
void evaluate_polynomials(const SphereJob& job, SphereBlock& block);

}  // namespace attractor::kernels
