// A tree of points: each node halves its points along the coordinate in which they spread most (of
// a sample), down to leaves. What encloses the points of a node, a box or a ball, is its user's
// (linked_boxes.hpp, close_counts.hpp). A function of the points alone. Cost: n log n + n dim.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "attractor/base/scratch.hpp"

namespace attractor {

struct Half {
  std::uint32_t begin, end;           // points in the order of the tree
  std::uint32_t level;                // 0: the root, all points
  std::uint32_t left = 0, right = 0;  // 0: a leaf
  std::uint32_t size() const { return end - begin; }
  bool leaf() const { return left == 0; }
};

class Halves {
 public:
  /// points: n x dim, n >= 1.
  Halves(std::span<const double> points, std::size_t dim);

  const std::vector<Half>& nodes() const { return nodes_; }  // children come after their parents
  /// order()[k] is the number of point k of the tree.
  const std::vector<std::uint32_t>& order() const { return order_; }
  std::size_t dim() const { return dim_; }
  std::span<const double> point(std::uint32_t k) const { return {points_.get() + k * dim_, dim_}; }

 private:
  std::size_t widest_axis(std::span<const double> points, std::uint32_t begin,
                          std::uint32_t end) const;
  std::uint32_t divide(std::span<const double> points, std::uint32_t begin, std::uint32_t end,
                       std::uint32_t level);

  std::size_t dim_;
  std::vector<std::uint32_t> order_;
  std::vector<Half> nodes_;
  Scratch<double> points_;  // in the order of the tree
  std::vector<std::pair<double, std::uint32_t>> keys_;
};

/// sum_a term(a)^2 over the coordinates, in several chains: bounds need no order of sums.
template <class Term>
double sum_of_squares(std::size_t dim, const Term& term) {
  constexpr std::size_t kChains = 8;
  double sum[kChains] = {};
  std::size_t a = 0;
  for (; a + kChains <= dim; a += kChains)
    for (std::size_t c = 0; c < kChains; ++c) sum[c] += term(a + c) * term(a + c);
  for (; a < dim; ++a) sum[0] += term(a) * term(a);
  return std::accumulate(sum, sum + kChains, 0.0);
}

}  // namespace attractor
