// The numbers behind circle_field.hpp. With x = k a, a half the width of a cell, and u = -1 .. 1
//
//   e^{beta (cos phi - 1)}         = value_0 + 2 sum_k value_k cos(k phi),  value_k = e^{-beta} I_k
//   e^{beta (cos phi - 1)} sin phi = sum_k slope_k sin(k phi),              slope_k = 2k
//   value_k/beta e^{ixu} = J_0(x) + 2 sum_b i^b J_b(x) T_b(u)   cut after b = p-1   = sum_b i^b
//   q_b(x) u^b,
//
// q_b near x^b / b! but 2^{p-1} times more accurate than the Taylor series.
#pragma once

#include <cstddef>
#include <vector>

namespace attractor::kernels {

struct CircleModes {
  std::vector<double> value, slope;
  double tail = 0;  // the modes left out add at most this, to either sum
  std::size_t highest() const { return value.size() - 1; }
};

/// As few modes as leave out at most `tail`.
CircleModes circle_modes(double beta, double tail);

struct CircleDesign {
  std::size_t cells = 0, powers = 0;
  double bound = 0;  // of the error, tail included
};

inline constexpr std::size_t kMostCirclePowers = 32;
inline constexpr double kCircleReach = 1.001;  // |u| that the bound allows for

/// The cheapest number of cells (more than twice the highest mode) and of powers for an error.
CircleDesign circle_design(const CircleModes& modes, double error, std::size_t tokens);

/// powers x (highest + 1): q_b(k pi / cells).
std::vector<double> circle_powers(const CircleModes& modes, const CircleDesign& design);

}  // namespace attractor::kernels
