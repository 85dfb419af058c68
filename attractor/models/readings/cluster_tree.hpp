// Clusters over depth: tokens whose directions are linked at a stated cosine
// (tokens/components.hpp) before the first layer and after each. A join is a cluster that holds
// members of several clusters of the layer before, a split one whose members go to several
// clusters; trained layers do both. The tree tells for each pair of tokens that are together at the
// end since which layer they have been so without a break, as a merge tree does
// (observe/merge_tree.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

namespace attractor::models {

/// Between the state after layer - 1 and that after `layer`.
struct ClusterEvent {
  std::size_t layer = 0;
  bool join = true;  // or split
  std::vector<std::uint32_t>
      clusters{};             // labels that join (of before), or that come out (of after)
  std::uint32_t cluster = 0;  // what they become, or what they were
  std::size_t tokens = 0;     // of all of them
};
inline auto fields(ClusterEvent& value) {
  auto& [layer, join, clusters, cluster, tokens] = value;
  return std::tie(layer, join, clusters, cluster, tokens);
}

/// Who is together with whom, and since when: SciPy's numbering, leaves are tokens.
struct ClusterMerge {
  std::size_t left = 0, right = 0, size = 0;
  double layer = 0;
};

class ClusterTree {
 public:
  /// labels: of each token, numbered in order of their first token.
  void add(std::vector<std::uint32_t> labels);

  std::size_t layers() const { return labels_.size(); }
  const std::vector<std::vector<std::uint32_t>>& labels() const { return labels_; }
  std::size_t clusters(std::size_t layer) const;
  const std::vector<ClusterEvent>& events() const { return events_; }
  /// Merges that hold at the end, ascending in layer.
  std::vector<ClusterMerge> merges() const;

  friend auto fields(ClusterTree& tree) { return std::tie(tree.labels_, tree.events_); }

 private:
  std::vector<std::vector<std::uint32_t>> labels_;
  std::vector<ClusterEvent> events_;
};

}  // namespace attractor::models
