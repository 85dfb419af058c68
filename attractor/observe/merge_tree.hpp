// The merge tree: which clusters joined, and when. Clusters are the connected components of tokens
// at a stated radius (tokens/components.hpp); two clusters join at the moment their nearest tokens
// come within that radius, found on the dense output of the step. When a component falls apart
// again (crowded starts do), its history is restricted to the parts: the tree always tells when two
// tokens that are together now last came together. The times do not depend on how or when the
// solver coalesces tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "attractor/flow/run.hpp"

namespace attractor::observe {

struct Link;
struct LinkSearch;

/// Two clusters joined at `time`; `a` and `b` are one original token of each.
struct Merge {
  flow::Time time;
  std::uint32_t a, b;
};

/// A merge in SciPy's linkage numbering: leaves are tokens 0..n-1, merge k creates cluster n + k.
struct Linkage {
  std::uint32_t left, right, size;
  flow::Time time;
};

class MergeTree {
 public:
  MergeTree(std::size_t tokens, std::size_t dim, double radius);

  /// Components of the first state become merges at its time.
  void start(const flow::Time& time, std::span<const double> state,
             std::span<const std::uint32_t> owner);
  /// owner[i]: the token of the state that original token i belongs to (during the whole step).
  void watch(const flow::Step& step, std::span<const std::uint32_t> owner);
  /// The same of all original tokens: where they are at a fraction of the step.
  using TokensAt = std::function<std::vector<double>(double theta)>;
  void watch(const flow::Step& step, const TokensAt& tokens);

  const std::vector<Merge>& merges() const { return merges_; }  // ascending in time
  std::vector<Linkage> linkage() const;
  /// Clusters at the last state seen, and the label of every original token.
  std::size_t clusters() const { return clusters_; }
  std::span<const std::uint32_t> labels() const { return labels_; }

  void restore(std::vector<Merge> merges, std::vector<std::uint32_t> labels);

 private:
  void watch(const flow::Step& step, const LinkSearch& search,
             std::span<const std::uint32_t> owner);
  /// What joins the clusters of before into those of now, ascending in time.
  std::vector<Link> new_links(const LinkSearch& search, std::span<const std::uint32_t> owner,
                              std::span<const std::uint32_t> now) const;
  void restrict_to(std::span<const std::uint32_t> now);

  std::size_t tokens_, dim_;
  double radius_;
  std::vector<Merge> merges_;
  std::vector<std::uint32_t> labels_;
  std::size_t clusters_ = 0;
};

}  // namespace attractor::observe
