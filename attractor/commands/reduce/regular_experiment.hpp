// `attractor reduce clusters`: k equal clusters on a regular polygon, a simplex or a ring on a
// latitude of S^2 (reductions/regular_clusters.hpp): how fast each small deviation grows, how long
// two neighbours would need to merge if they were alone, and how long a ring or equiangular
// clusters are on their way. Times that no double holds are given by their logarithm.
#pragma once

#include <cstdint>
#include <string>

#include "attractor/commands/result.hpp"

namespace attractor::lab {

enum class Shape { polygon, simplex, ring };
std::span<const std::string_view> names(Shape);

struct RegularSetup {
  Rule dynamics = Rule::softmax;
  double beta = 9;
  std::uint64_t count = 5;
  Shape shape = Shape::polygon;
  std::uint64_t dim = 0;           // simplex; 0: as many as clusters
  std::optional<double> cosine{};  // simplex; start closer than the simplex
  double merge_cosine = 0.999;
  double polar = 1.2, to_polar = 0.1;  // ring
};

ParameterList list(RegularSetup& p);
Result ask(const RegularSetup& p, const Context& context);

}  // namespace attractor::lab
