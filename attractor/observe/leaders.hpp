// Leaders of a sequence of tokens. Under causal attention token k sees only j <= k, so tokens
// gather at early ones that stay apart: Rényi's car parking. With a chord length `radius`, it is
//
//   a centre          if it is farther than that from all earlier centres,
//   a strong centre   if it is farther than that from all earlier tokens (so it is a centre too).
//
// Strong centres barely move while radius >> beta^{-1/2}; arXiv 2411.04990 draws radius
// 4/sqrt(beta). An angle delta on the sphere is the chord 2 sin(delta/2). n uniform tokens on the
// circle have (pi/delta)(1 - (1 - delta/pi)^n) strong centres on average, and C_R 2 pi/delta
// centres as n grows, C_R = 0.7475979202534 (Rényi 1958). Cost: dim n times the number of centres.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace attractor::observe {

/// Indices of tokens, ascending; the first token is always both.
struct Leaders {
  std::vector<std::uint32_t> centres, strong;
};

/// Tokens: n x dim, row-major, in their order. Throws Error on a radius that is negative or not
/// finite, and on a number of coordinates that is no multiple of dim.
Leaders leaders(std::span<const double> tokens, std::size_t dim, double radius);

}  // namespace attractor::observe
