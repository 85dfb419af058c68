// Cells of the sphere and the numbers behind sphere_field.hpp.
//
//   e^{beta (t - 1)} = sum_l value_l P_l(t),   value_l = (2l+1) e^{-beta} i_l(beta) >= 0, of sum 1
//
// On each hemisphere lie one round cell at the pole and `bands` bands of equal height, each cut
// into cells of equal length; a cell spans at most `radius`. The coordinates in a cell with centre
// c are those of its tangent plane, u = <x, e1> / s and v = <x, e2> / t, so a polynomial in u and v
// has no singularity anywhere, the poles included. The southern cells mirror the northern ones.
//
// Nodes of a cell are q latitudes (rings) times q longitudes. A function given there becomes a
// polynomial of total degree p by least squares in T_a(u) T_b(v); power sums of T_a T_b become
// weights of the nodes by the transpose of the same matrix, which depends on the band alone.
#pragma once

#include <cstddef>
#include <vector>

namespace attractor::kernels {

struct SphereModes {
  std::vector<double> value;  // of the kernel
  std::vector<double> slope;  // value / beta, finite at beta = 0; slope_0 = 0
  std::vector<double> along;  // of the kernel times t
  double tail = 0;            // the modes left out add at most this to Z and D
  std::size_t highest() const { return value.size() - 1; }
};

/// As few modes as leave out at most `tail`.
SphereModes sphere_modes(double beta, double tail);

struct SphereDesign {
  std::size_t bands = 0, degree = 0;
  double bound = 0;  // of the error of Z and D, tail included
};

inline constexpr std::size_t kMostSphereDegree = 16;

/// The cheapest cells and degree for an error.
SphereDesign sphere_design(const SphereModes& modes, double error, std::size_t tokens);

/// One band and its mirror image; cells [first, first + count) are north, as many follow south.
struct SphereBand {
  std::size_t first = 0, count = 0;
  std::size_t first_ring = 0, rings = 0;  // rings padded to a multiple of 4 by empty ones
  std::vector<double> longitudes;         // nodes of the cell that begins at 0: turns x rings
  std::vector<double> source;             // coefficients x nodes
  std::vector<double> target;             // nodes x stride, to powers u^a v^b
  std::size_t nodes() const { return longitudes.size(); }
};

struct SphereCells {
  std::size_t degree = 0, coefficients = 0;  // (a, b) with a + b <= degree, a running first
  std::size_t stride = 0;                    // coefficients, padded to whole vectors
  double cap = 0, height = 0;                // of the cell at the pole, of a band
  std::size_t count = 0;
  std::vector<SphereBand> bands;               // the polar one first
  std::vector<double> frames;                  // count x 6: e1 / s, e2 / t
  std::vector<double> ring_cosine, ring_sine;  // of the northern colatitudes
};

SphereCells sphere_cells(const SphereDesign& design);

}  // namespace attractor::kernels
