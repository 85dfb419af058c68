// Tokens in R^d that no layer normalises: where they start, what moves them, and how far they are
// from the boundary of their hull.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attractor/depth/layer_flow.hpp"

namespace attractor::papers {

/// n tokens uniform in [-size, size]^dim.
std::vector<double> box(std::size_t n, std::size_t dim, double size, std::uint64_t seed);

/// One head with this value matrix (empty: identity), softmax at beta, tokens in R^d.
depth::Architecture plane(std::size_t dim, depth::Geometry geometry, double beta,
                          std::vector<double> value = {});

/// How far a point is from supporting the hull in its own direction: 0 if <p, q> <= <p, p> for all
/// p, q, which puts every p on the boundary.
double excess(std::span<const double> points, std::size_t dim);

}  // namespace attractor::papers
