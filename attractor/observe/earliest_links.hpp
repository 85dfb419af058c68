// Which clusters of a step join by which pair of tokens, and when: the spanning tree of earliest
// links. Two clusters are linked from the moment the nearest of their tokens (at the end of the
// step) are within the radius. Prim's method: every pair of clusters is looked at once and its
// moment is narrowed down, by halves, only as far as it takes to tell it from others; those of the
// tree to 2^-50 of the step. Cost O(tokens^2 dim), memory O(clusters).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace attractor::observe {

/// A cluster before the step: its label, and its tokens.
struct LinkedCluster {
  std::uint32_t label = 0;
  std::vector<std::uint32_t> members;
};

/// Links of the same moment come in the order of the labels.
struct Link {
  double theta = 1;                  // fraction of the step
  std::uint32_t a = 0, b = 0;        // tokens
  std::uint32_t of_a = 0, of_b = 0;  // labels of their clusters, ascending
  friend bool operator<(const Link& x, const Link& y);
};

struct LinkSearch {
  std::span<const double> after;  // tokens at the end of the step, row-major
  std::size_t dim = 1;
  double radius = 0;
  /// Two tokens on the way; empty: not known, then all links are at the end.
  std::function<void(double theta, std::size_t i, std::size_t j, std::span<double> x,
                     std::span<double> y)>
      pair{};
};

/// Clusters, ascending by label, that chains of tokens within the radius connect after the step:
/// one link fewer than there are clusters, in no order.
std::vector<Link> earliest_links(const LinkSearch& search, std::span<const LinkedCluster> clusters);

}  // namespace attractor::observe
