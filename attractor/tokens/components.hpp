// Connected components of tokens: i and j are linked when |x_i - x_j| <= radius (chord length). A
// chain of tokens is one component. By a tree of boxes (linked_boxes.hpp): about n log n for
// spread, clumped or collapsed tokens, and memory for their copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attractor/tokens/circle_order.hpp"

namespace attractor {

struct Components {
  std::vector<std::uint32_t> label;  // of each token; numbered in order of their first token
  std::size_t count = 0;
};

Components components(std::span<const double> tokens, std::size_t dim, double radius);
/// The same for tokens of the circle: neighbours further apart than the radius end a component.
Components components_on_circle(const CircleOrder& order, std::span<const double> tokens,
                                double radius);

}  // namespace attractor
