// From sums over tokens (attention/attention.hpp) to motion: what every flow of plain attention
// does with them, wherever they were summed.
#pragma once

#include <memory>
#include <span>

#include "attractor/attention/attention.hpp"
#include "attractor/space/space.hpp"

namespace attractor::depth {

std::unique_ptr<Space> space_of(const Attention& attention);

/// ln of the natural unit of time: 0 for softmax, -beta |Q^T K| for unnormalised attention.
double natural_log_unit(const Attention& attention);

/// Single precision: bound of the error of a velocity in the natural unit of time, absolutely.
/// Pulls are at most 2 |V| long and Z is wrong by as much again (kernels/dense/single_rows.hpp).
double single_velocity_error(const Attention& attention);

/// Tokens and what was summed for each of them; `total` is the mass of all.
struct Attended {
  const Attention& attention;
  const Space& space;
  std::span<const double> state, masses;
  const AttentionSums& sums;
  std::span<const double> pull;  // those of the sums, wherever they are: `out` may be the place
  double total;
};

/// out_i = e^log_unit A_i, projected onto the tangent space if asked.
void attention_output(const Attended& tokens, double log_unit, bool tangent, std::span<double> out);

/// ln of the largest |A_i - v_i| (softmax) or of what others add to A_i (unnormalised); -inf
/// without any.
double log_fastest(const Attended& tokens);

}  // namespace attractor::depth
