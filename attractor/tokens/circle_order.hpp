// Tokens of the circle (d = 2) in the order in which they stand there. In that order what asks for
// pairs elsewhere is a walk around the circle: who is linked to whom, how many pairs are close,
// which are farthest apart. Cost: n log n, or n where the order is that of the tokens already.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace attractor {

struct CircleOrder {
  std::vector<double> angle;         // from token 0 on, ascending: 0 .. 2 pi
  std::vector<std::uint32_t> token;  // who stands there
};

/// Tokens: n x 2, n >= 1. None unless all are unit vectors to 1e-12.
std::optional<CircleOrder> circle_order(std::span<const double> tokens);

}  // namespace attractor
