// What the last of 64 causal tokens on the circle keeps of token j, with beta = lambda = 1, lambda
// the bias against distance over the whole sequence:
//
//   near consensus   d x_n(T) / d x_j(0) = [e^{T(A-I)}]_{nj}, A the attention of equal tokens:
//   exact uniform tokens   E cos(x_n(T) - x_j(0)), as n grows (1/n) w'(v)/w(1) sqrt(a/l) I_1(2
//   sqrt(a l)),
//                    v = j/n, w = e^{lambda v} - 1, l = ln w(1)/w(v), a = T I_1/(beta I_0): a U
//                    while a < 2 (1 - e^{-lambda})
#pragma once

#include <vector>

#include "papers/entry.hpp"

namespace attractor::papers {

inline constexpr std::size_t kSequence = 64;
inline constexpr double kBias = 1, kNudge = 1e-6;  // kNudge: what a token is moved by, radians

/// Angle of the last token at this time, by RK4.
double last_angle(const std::vector<double>& angles, double time, double step,
                  const Effort& effort);

/// The last row of e^{T(A-I)}: a walk that leaves i at rate 1 for j <= i.
std::vector<double> walk_profile(double time);
/// The same from the motion of tokens.
std::vector<double> consensus_profile(double time, double step, const Effort& effort);

/// The limit for uniform tokens at v in (0, 1).
double limit_profile(double position, double time);

struct Uniform {
  std::vector<double> mean, error;  // of groups of seven tokens, the last token left out
};
Uniform uniform_profile(double time, int replicates, const Effort& effort);

}  // namespace attractor::papers
