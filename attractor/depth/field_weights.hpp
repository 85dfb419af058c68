// What flows by fields (circle_flow.hpp, field_flow.hpp) ask of the weights of their tokens.
#pragma once

#include <vector>

namespace attractor::depth {

/// Divided by the largest, so that their sum cannot overflow. Throws Error on one that is not
/// positive and finite.
std::vector<double> checked_weights(std::vector<double> weights);

}  // namespace attractor::depth
