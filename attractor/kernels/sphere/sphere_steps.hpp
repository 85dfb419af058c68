// The vector loops of sphere_transform.hpp. Functions on the rings of both hemispheres are kept as
// four rows, north real, north imaginary, south real, south imaginary.
#pragma once

#include <cstddef>

#include "attractor/kernels/sphere/sphere_cells.hpp"

namespace attractor::kernels {

/// out = left right, row-major; columns a multiple of 4.
struct SphereProduct {
  const double *left, *right;
  double* out;
  std::size_t rows, inner, columns, left_stride;
};
void multiply(const SphereProduct& product);

/// Modes of the cells of a band at its nodes (complex, modes x nodes) and of its rings.
struct SphereTurns {
  const SphereBand* band;
  double* spectrum;
  double* turning;                 // scratch: 4 x nodes
  double* rings;                   // real row; the imaginary one follows at ring_stride
  std::size_t ring_stride, modes;  // the next mode follows at 4 ring_stride
};
/// rings_m = sum over the nodes of a ring of e^{-i m longitude} times its mode.
void gather_rings(const SphereTurns& turns);
/// The transpose, and complete modes of a real function.
void spread_rings(const SphereTurns& turns);

/// P_l^m on the northern rings, l = m, .., m + terms - 1.
struct SphereRings {
  std::size_t rings, terms;
  const double *cosine, *start, *recursion;
};
/// modes[k] = sum over all rings of P_{m+k}^m times the four rows of `rings`, which are changed.
void analyse_latitudes(const SphereRings& job, double* rings, double* modes);
/// rings = sum_k P_{m+k}^m modes[k]; one term more than job.terms is read and must be zero.
void synthesise_latitudes(const SphereRings& job, const double* modes, double* rings);

}  // namespace attractor::kernels
