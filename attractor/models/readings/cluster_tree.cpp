#include "attractor/models/readings/cluster_tree.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace attractor::models {
namespace {

using Labels = std::vector<std::uint32_t>;

/// The labels of `of` that each label of `in` meets, with the number of tokens.
std::map<std::uint32_t, std::map<std::uint32_t, std::size_t>> met(const Labels& in,
                                                                  const Labels& of) {
  std::map<std::uint32_t, std::map<std::uint32_t, std::size_t>> all;
  for (std::size_t i = 0; i < in.size(); ++i) ++all[in[i]][of[i]];
  return all;
}

void add_events(const Labels& in, const Labels& of, std::size_t layer, bool join,
                std::vector<ClusterEvent>& events) {
  for (const auto& [label, others] : met(in, of)) {
    if (others.size() < 2) continue;
    ClusterEvent event{.layer = layer, .join = join, .clusters = {}, .cluster = label};
    for (const auto& [other, count] : others) {
      event.clusters.push_back(other);
      event.tokens += count;
    }
    events.push_back(std::move(event));
  }
}

}  // namespace

void ClusterTree::add(Labels labels) {
  if (!labels_.empty()) {
    const Labels& before = labels_.back();
    add_events(labels, before, labels_.size(), true, events_);
    add_events(before, labels, labels_.size(), false, events_);
  }
  labels_.push_back(std::move(labels));
}

std::size_t ClusterTree::clusters(std::size_t layer) const {
  return std::set<std::uint32_t>(labels_[layer].begin(), labels_[layer].end()).size();
}

std::vector<ClusterMerge> ClusterTree::merges() const {
  // Together since layer k: together at all layers from k on. Going back, groups only come apart.
  std::vector<ClusterMerge> found;
  if (labels_.empty()) return found;
  const std::size_t n = labels_.front().size();
  std::vector<Labels> since(labels_.size());
  for (std::size_t layer = labels_.size(); layer-- > 0;) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> number;
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint32_t later = layer + 1 < labels_.size() ? since[layer + 1][i] : 0;
      const auto key = std::pair(labels_[layer][i], later);
      since[layer].push_back(
          number.emplace(key, static_cast<std::uint32_t>(number.size())).first->second);
    }
  }
  std::vector<std::size_t> top(n), size(n, 1);  // the cluster a token is in so far
  std::iota(top.begin(), top.end(), std::size_t{0});
  for (std::size_t layer = 0; layer < since.size(); ++layer) {
    std::map<std::uint32_t, std::size_t> first;  // token of each group
    for (std::size_t i = 0; i < n; ++i) {
      const auto [at, fresh] = first.emplace(since[layer][i], i);
      const std::size_t a = top[at->second], b = top[i];
      if (fresh || a == b) continue;
      const std::size_t made = n + found.size();
      size.push_back(size[a] + size[b]);
      found.push_back({std::min(a, b), std::max(a, b), size.back(), static_cast<double>(layer)});
      for (std::size_t& t : top)
        if (t == a || t == b) t = made;
    }
  }
  return found;
}

}  // namespace attractor::models
