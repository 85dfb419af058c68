#include "attractor/tokens/linked_boxes.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "attractor/base/threads.hpp"
#include "attractor/space/space.hpp"
#include "attractor/tokens/halves.hpp"

namespace attractor {
namespace {

constexpr std::size_t kFewestOnALine = 32;
constexpr std::size_t kSharedLevels = 6;                 // of the tree, shared out to threads
constexpr double kSurely = 1e-3, kLineRounding = 1e-15;  // far more than squares round

struct BoxNode : Half {
  bool one = false;     // all tokens are known to be of one component
  bool joined = false;  // its pairs have been looked at
};

class LinkedBoxes {
 public:
  LinkedBoxes(std::span<const double> tokens, std::size_t dim, double radius)
      : dim_(dim), radius_(radius), limit_(radius * radius), tree_(tokens, dim) {
    parent_.resize(order().size());
    std::iota(parent_.begin(), parent_.end(), 0U);
    for (const Half& half : tree_.nodes()) {
      if (half.level < kSharedLevels) {
        levels_.resize(std::max<std::size_t>(levels_.size(), half.level + 1));
        levels_[half.level].push_back(static_cast<std::uint32_t>(nodes_.size()));
      }
      nodes_.push_back({half});
    }
    boxes_.resize(2 * dim_ * nodes_.size());
    for (std::size_t k = nodes_.size(); k-- > 0;) enclose(k);  // children come after their parents
  }

  std::vector<std::uint32_t> run() {
    for (std::size_t level = levels_.size(); level-- > 0;)
      parallel_for(levels_[level].size(), 1, [&](std::size_t begin, std::size_t end) {
        for (std::size_t k = begin; k < end; ++k) join_within(levels_[level][k]);
      });
    std::vector<std::uint32_t> first(order().size());
    for (std::uint32_t k = 0; k < order().size(); ++k) first[order()[k]] = root(order()[k]);
    return first;
  }

 private:
  const std::vector<std::uint32_t>& order() const { return tree_.order(); }
  std::span<const double> point(std::uint32_t k) const { return tree_.point(k); }
  const double* low(std::uint32_t node) const { return &boxes_[2 * node * dim_]; }
  const double* high(std::uint32_t node) const { return low(node) + dim_; }

  // The box of a node, of its tokens or its children. A narrow one holds one component.
  void enclose(std::size_t k) {
    BoxNode& node = nodes_[k];
    double* least = &boxes_[2 * k * dim_];
    double* most = least + dim_;
    const double* from = node.leaf() ? point(node.begin).data() : low(node.left);
    std::copy_n(from, dim_, least);
    std::copy_n(node.leaf() ? from : high(node.left), dim_, most);
    const auto add = [&](const double* below, const double* above) {
      for (std::size_t a = 0; a < dim_; ++a) {
        least[a] = std::min(least[a], below[a]);
        most[a] = std::max(most[a], above[a]);
      }
    };
    if (!node.leaf()) add(low(node.right), high(node.right));
    for (std::uint32_t i = node.begin; node.leaf() && i < node.end; ++i)
      add(point(i).data(), point(i).data());
    const auto self = static_cast<std::uint32_t>(k);
    node.one = surely_within(span(self, self));
    for (std::uint32_t i = node.begin; node.one && i < node.end; ++i)
      unite(order()[node.begin], order()[i]);
  }

  bool surely_within(double squared) const { return squared <= limit_ * (1 - kSurely); }
  bool surely_beyond(double squared) const { return squared > limit_ * (1 + kSurely); }

  template <class Term>
  double squares(const Term& term) const {
    return sum_of_squares(dim_, term);
  }
  double gap(std::uint32_t p, std::uint32_t q) const {
    const double *lp = low(p), *hp = high(p), *lq = low(q), *hq = high(q);
    return squares(
        [=](std::size_t a) { return std::max(0.0, std::max(lp[a] - hq[a], lq[a] - hp[a])); });
  }
  double gap_of(std::uint32_t i, std::uint32_t q) const {
    const double *x = point(i).data(), *lq = low(q), *hq = high(q);
    return squares(
        [=](std::size_t a) { return std::max(0.0, std::max(x[a] - hq[a], lq[a] - x[a])); });
  }
  double span(std::uint32_t p, std::uint32_t q) const {
    const double *lp = low(p), *hp = high(p), *lq = low(q), *hq = high(q);
    return squares([=](std::size_t a) { return std::max(hp[a] - lq[a], hq[a] - lp[a]); });
  }

  // Whether the tokens are further apart than the radius along the line through the boxes' middles.
  bool apart_on_a_line(std::uint32_t p, std::uint32_t q) const {
    std::vector<double> way(dim_), middle(dim_);
    for (std::size_t a = 0; a < dim_; ++a) {
      const double at_p = low(p)[a] + 0.5 * (high(p)[a] - low(p)[a]);
      const double at_q = low(q)[a] + 0.5 * (high(q)[a] - low(q)[a]);
      way[a] = at_q - at_p;
      middle[a] = at_p;
    }
    const double length = std::sqrt(squares([&](std::size_t a) { return way[a]; }));
    if (!(length > 0) || !std::isfinite(length)) return false;
    const auto along = [&](std::uint32_t k) {
      double sum = 0;
      for (std::size_t a = 0; a < dim_; ++a) sum += (point(k)[a] - middle[a]) * way[a];
      return sum / length;
    };
    double last = along(nodes_[p].begin), first = along(nodes_[q].begin);
    for (std::uint32_t k = nodes_[p].begin; k < nodes_[p].end; ++k) last = std::max(last, along(k));
    for (std::uint32_t k = nodes_[q].begin; k < nodes_[q].end; ++k)
      first = std::min(first, along(k));
    const double rounding = kLineRounding * static_cast<double>(dim_) * std::sqrt(span(p, q));
    return first - last > (1 + kSurely) * radius_ + rounding;
  }

  // Most tokens differ in their first coordinates already.
  bool near(std::uint32_t i, std::uint32_t j) const {
    double sum = 0;
    for (std::size_t begin = 0; begin < dim_; begin += 8) {
      const std::size_t length = std::min<std::size_t>(8, dim_ - begin);
      sum += squared_distance(point(i).subspan(begin, length), point(j).subspan(begin, length));
      if (sum > limit_) return false;
    }
    return true;
  }

  std::uint32_t root(std::uint32_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void unite(std::uint32_t i, std::uint32_t j) {
    const std::uint32_t a = root(i), b = root(j);
    parent_[std::max(a, b)] = std::min(a, b);
  }
  bool same(std::uint32_t p, std::uint32_t q) {  // of two nodes that are one each
    return root(order()[nodes_[p].begin]) == root(order()[nodes_[q].begin]);
  }

  // Later links may have made it one.
  void look_again(BoxNode& node) {
    if (node.one) return;
    node.one = node.leaf() || (nodes_[node.left].one && nodes_[node.right].one);
    if (node.leaf())
      for (std::uint32_t i = node.begin; i < node.end && node.one; ++i)
        node.one = root(order()[i]) == root(order()[node.begin]);
    else if (node.one)
      node.one = same(node.left, node.right);
  }

  void join_within(std::uint32_t p) {
    BoxNode& node = nodes_[p];
    if (node.one || node.joined) return;
    node.joined = true;
    if (node.leaf()) {
      for (std::uint32_t i = node.begin; i < node.end; ++i)
        for (std::uint32_t j = node.begin; j < i; ++j)
          if (near(i, j)) unite(order()[i], order()[j]);
    } else {
      join_within(node.left);
      join_within(node.right);
      join(node.left, node.right);
    }
    look_again(node);
  }

  // Two boxes that halve the same few coordinates touch in all of them, however many coordinates
  // there are; a token is near few boxes. So tokens that are not of one component search alone.
  void join(std::uint32_t p, std::uint32_t q) {
    if (nodes_[p].one && !nodes_[q].one) std::swap(p, q);
    BoxNode &a = nodes_[p], &b = nodes_[q];
    const bool ones = a.one && b.one;
    if (ones && same(p, q)) return;
    if (surely_beyond(gap(p, q))) return;
    if (!ones) {
      for (std::uint32_t i = a.begin; a.leaf() && i < a.end; ++i) join_token(i, q);
      if (!a.leaf()) join(a.left, q);
      if (!a.leaf()) join(a.right, q);
      return look_again(a);
    }
    if (surely_within(span(p, q))) return unite(order()[a.begin], order()[b.begin]);
    if (std::min(a.size(), b.size()) >= kFewestOnALine && apart_on_a_line(p, q)) return;
    if (a.leaf() && b.leaf()) return join_leaves(a, b);
    if (b.leaf() || (!a.leaf() && a.size() >= b.size())) {
      join(a.left, q);
      join(a.right, q);
    } else {
      join(p, b.left);
      join(p, b.right);
    }
  }

  // Of two leaves of one component each.
  void join_leaves(const BoxNode& a, const BoxNode& b) {
    for (std::uint32_t i = a.begin; i < a.end; ++i)
      for (std::uint32_t j = b.begin; j < b.end; ++j)
        if (near(i, j)) return unite(order()[i], order()[j]);
  }

  void join_token(std::uint32_t i, std::uint32_t q) {
    BoxNode& node = nodes_[q];
    if (node.one && root(order()[i]) == root(order()[node.begin])) return;
    if (surely_beyond(gap_of(i, q))) return;
    for (std::uint32_t j = node.begin; node.leaf() && j < node.end; ++j) {
      if (!near(i, j)) continue;
      unite(order()[i], order()[j]);
      if (node.one) return;
    }
    if (!node.leaf()) {
      join_token(i, node.left);
      join_token(i, node.right);
    }
    look_again(node);
  }

  std::size_t dim_;
  double radius_, limit_;
  Halves tree_;
  std::vector<std::uint32_t> parent_;
  std::vector<double> boxes_;  // least and most of each node
  std::vector<BoxNode> nodes_;
  std::vector<std::vector<std::uint32_t>> levels_;  // nodes of the first few
};

}  // namespace

std::vector<std::uint32_t> first_linked(std::span<const double> tokens, std::size_t dim,
                                        double radius) {
  return tokens.empty() ? std::vector<std::uint32_t>() : LinkedBoxes(tokens, dim, radius).run();
}

}  // namespace attractor
