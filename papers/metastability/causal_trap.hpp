// A proof that a causal token never reaches the first one's axis. Two tokens on the circle, token 1
// seeing itself alone and token 2 both, logits <x_i, B x_j>, values V. With tau = (-sin a, cos a)
// at angle a of a token,
//
//   a_1' = <tau_1, V x_1>,   a_2' = P (<tau_2, V x_1> + e^l <tau_2, V x_2>),   P > 0,
//   l = <x_2, B x_2> - <x_2, B x_1>.
//
// A box of both angles into which the flow leads on all four sides is
// never left; all signs are computed in intervals of rational numbers, so they are proofs.
#pragma once

#include <array>
#include <boost/multiprecision/cpp_int.hpp>

namespace attractor::papers {

using Rational = boost::multiprecision::cpp_rational;

struct CausalPair {
  std::array<Rational, 4> logits, value;  // B and V, row by row
};

/// Angles as tan(a/2): token 1 within `first` of the axis (1, 0), token 2 between `from` and `to`.
struct AngleBox {
  Rational first, from, to;
};

/// Through how many of the four sides of the box the flow is proved to lead inwards.
int inward_sides(const CausalPair& pair, const AngleBox& box);

}  // namespace attractor::papers
