#include "attractor/observe/merge_tree.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "attractor/observe/earliest_links.hpp"
#include "attractor/tokens/components.hpp"

namespace attractor::observe {
namespace {

class UnionFind {
 public:
  explicit UnionFind(std::size_t n) : parent_(n) { std::iota(parent_.begin(), parent_.end(), 0U); }
  std::uint32_t find(std::uint32_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void attach(std::uint32_t child_root, std::uint32_t root) { parent_[child_root] = root; }

 private:
  std::vector<std::uint32_t> parent_;
};

std::vector<std::uint32_t> original_labels(const Components& found,
                                           std::span<const std::uint32_t> owner) {
  std::vector<std::uint32_t> labels(owner.size());
  for (std::size_t i = 0; i < owner.size(); ++i) labels[i] = found.label[owner[i]];
  return labels;
}

std::size_t count_labels(std::span<const std::uint32_t> labels) {
  return labels.empty() ? 0 : *std::max_element(labels.begin(), labels.end()) + 1;
}

// True if two tokens that were together are apart now.
bool falls_apart(std::span<const std::uint32_t> before, std::span<const std::uint32_t> now) {
  std::vector<std::uint32_t> image(count_labels(before), std::numeric_limits<std::uint32_t>::max());
  for (std::size_t i = 0; i < before.size(); ++i) {
    std::uint32_t& seen = image[before[i]];
    if (seen == std::numeric_limits<std::uint32_t>::max()) seen = now[i];
    if (seen != now[i]) return true;
  }
  return false;
}

}  // namespace

MergeTree::MergeTree(std::size_t tokens, std::size_t dim, double radius)
    : tokens_(tokens), dim_(dim), radius_(radius) {}

void MergeTree::start(const flow::Time& time, std::span<const double> state,
                      std::span<const std::uint32_t> owner) {
  const Components found = components(state, dim_, radius_);
  labels_ = original_labels(found, owner);
  clusters_ = found.count;
  std::vector<std::uint32_t> first(found.count, std::numeric_limits<std::uint32_t>::max());
  for (std::uint32_t i = 0; i < tokens_; ++i) {
    std::uint32_t& seen = first[labels_[i]];
    if (seen == std::numeric_limits<std::uint32_t>::max())
      seen = i;
    else
      merges_.push_back({time, seen, i});
  }
}

void MergeTree::watch(const flow::Step& step, std::span<const std::uint32_t> owner) {
  LinkSearch search{step.after, dim_, radius_};
  if (step.stepper.tableau().dense != nullptr)
    search.pair = [&](double theta, std::size_t i, std::size_t j, std::span<double> x,
                      std::span<double> y) {
      step.stepper.interpolate_point(i, theta, x);
      step.stepper.interpolate_point(j, theta, y);
    };
  watch(step, search, owner);
}

void MergeTree::watch(const flow::Step& step, const TokensAt& tokens) {
  std::vector<std::uint32_t> owner(tokens_);
  std::iota(owner.begin(), owner.end(), 0U);
  const std::vector<double> after = tokens(1);
  const auto pair = [&](double theta, std::size_t i, std::size_t j, std::span<double> x,
                        std::span<double> y) {
    const std::vector<double> all = tokens(theta);
    std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(i * dim_), dim_, x.begin());
    std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(j * dim_), dim_, y.begin());
  };
  watch(step, {after, dim_, radius_, pair}, owner);
}

void MergeTree::watch(const flow::Step& step, const LinkSearch& search,
                      std::span<const std::uint32_t> owner) {
  const Components found = components(search.after, dim_, radius_);
  std::vector<std::uint32_t> now = original_labels(found, owner);
  if (now == labels_) return;
  if (falls_apart(labels_, now)) restrict_to(now);
  for (const Link& link : new_links(search, owner, now))
    merges_.push_back({step.at(link.theta), link.a, link.b});
  labels_ = std::move(now);
  clusters_ = found.count;
}

std::vector<Link> MergeTree::new_links(const LinkSearch& search,
                                       std::span<const std::uint32_t> owner,
                                       std::span<const std::uint32_t> now) const {
  std::vector<std::uint32_t> name(search.after.size() / dim_);  // an original token of each
  for (std::size_t i = owner.size(); i-- > 0;) name[owner[i]] = static_cast<std::uint32_t>(i);
  // Components of now, each by the clusters of before that are in it.
  std::vector<std::map<std::uint32_t, LinkedCluster>> groups(count_labels(now));
  for (std::uint32_t s = 0; s < name.size(); ++s) {
    const std::uint32_t before = labels_[name[s]];
    LinkedCluster& cluster = groups[now[name[s]]][before];
    cluster.label = before;
    cluster.members.push_back(s);
  }
  std::vector<Link> links;
  for (auto& group : groups) {
    if (group.size() < 2) continue;
    std::vector<LinkedCluster> clusters;
    for (auto& [label, cluster] : group) clusters.push_back(std::move(cluster));
    for (Link link : earliest_links(search, clusters)) {
      link.a = name[link.a];
      link.b = name[link.b];
      links.push_back(link);
    }
  }
  std::sort(links.begin(), links.end());
  return links;
}

// Replays the history and keeps, for every part of `now`, only the joins within that part: a part's
// tokens in two joining sets are represented by one token of each.
void MergeTree::restrict_to(std::span<const std::uint32_t> now) {
  UnionFind sets(tokens_);
  std::vector<std::map<std::uint32_t, std::uint32_t>> parts(tokens_);  // part -> a token of it
  for (std::uint32_t i = 0; i < tokens_; ++i) parts[i].emplace(now[i], i);
  std::vector<Merge> kept;
  for (const Merge& merge : merges_) {
    std::uint32_t large = sets.find(merge.a), small = sets.find(merge.b);
    if (large == small) continue;
    if (parts[large].size() < parts[small].size()) std::swap(large, small);
    for (const auto& [part, token] : parts[small]) {
      const auto [at, fresh] = parts[large].emplace(part, token);
      if (!fresh) kept.push_back({merge.time, at->second, token});
    }
    parts[small].clear();
    sets.attach(small, large);
  }
  merges_ = std::move(kept);
  // Label the parts: tokens joined by what is left.
  UnionFind joined(tokens_);
  for (const Merge& merge : merges_) {
    const std::uint32_t a = joined.find(merge.a), b = joined.find(merge.b);
    joined.attach(std::max(a, b), std::min(a, b));
  }
  std::vector<std::uint32_t> number(tokens_);
  std::uint32_t next = 0;
  for (std::uint32_t i = 0; i < tokens_; ++i) {
    const std::uint32_t root = joined.find(i);
    if (root == i) number[i] = next++;
    labels_[i] = number[root];
  }
}

std::vector<Linkage> MergeTree::linkage() const {
  const auto n = static_cast<std::uint32_t>(tokens_);
  UnionFind sets(tokens_);
  std::vector<std::uint32_t> id(tokens_), size(tokens_, 1);
  std::iota(id.begin(), id.end(), 0U);
  std::vector<Linkage> rows;
  for (const Merge& merge : merges_) {
    std::uint32_t a = sets.find(merge.a), b = sets.find(merge.b);
    if (id[a] > id[b]) std::swap(a, b);
    rows.push_back({id[a], id[b], size[a] + size[b], merge.time});
    sets.attach(b, a);
    size[a] += size[b];
    id[a] = n + static_cast<std::uint32_t>(rows.size()) - 1;
  }
  return rows;
}

void MergeTree::restore(std::vector<Merge> merges, std::vector<std::uint32_t> labels) {
  merges_ = std::move(merges);
  labels_ = std::move(labels);
  clusters_ = count_labels(labels_);
}

}  // namespace attractor::observe
