#include "attractor/observe/earliest_links.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <tuple>

#include "attractor/space/space.hpp"

namespace attractor::observe {
namespace {

constexpr double kFinest = 0x1p-50;  // of a step

/// A link whose moment is known to lie in (low, high], a dyadic interval.
struct Bracket {
  Link link;
  double low = 0, high = 1;
  bool found() const { return high - low <= kFinest; }
};

class Search {
 public:
  explicit Search(const LinkSearch& task)
      : task_(task), x_(task.dim), y_(task.dim), known_(static_cast<bool>(task.pair)) {}

  /// The link of two clusters, unless it is later than `rival` (without one: nothing earlier).
  std::optional<Bracket> link(const LinkedCluster& a, const LinkedCluster& b,
                              const std::optional<Bracket>& rival) {
    Bracket found{.link = {.of_a = a.label, .of_b = b.label}};
    double nearest = std::numeric_limits<double>::infinity();
    for (const std::uint32_t i : a.members) {
      for (const std::uint32_t j : b.members) {
        const double squared = squared_distance(task_.after.subspan(i * task_.dim, task_.dim),
                                                task_.after.subspan(j * task_.dim, task_.dim));
        if (squared < nearest) nearest = squared, found.link.a = i, found.link.b = j;
      }
    }
    if (nearest > task_.radius * task_.radius) return std::nullopt;
    if (!known_) found.low = 1 - kFinest;
    if (!known_ || !rival) return found;
    if (rival->high < 1 && !within(found, rival->high)) return std::nullopt;
    found.high = rival->high;
    if (rival->low > 0 && within(found, rival->low))
      found.high = rival->low;
    else
      found.low = rival->low;
    // (0, low] is not dyadic: by halves from the whole step on.
    return aligned(found);
  }

  /// Narrows both down until they can be told apart.
  bool earlier(Bracket& x, Bracket& y) {
    for (;;) {
      if (x.high <= y.low) return true;
      if (y.high <= x.low) return false;
      if (x.found() && y.found())
        return std::tie(x.link.of_a, x.link.of_b) < std::tie(y.link.of_a, y.link.of_b);
      const double width = x.high - x.low;
      const bool equal = width == y.high - y.low;
      if (equal || width > y.high - y.low) halve(x);
      if (equal || width < y.high - y.low) halve(y);
    }
  }

  Link settled(Bracket b) {
    while (!b.found()) halve(b);
    b.link.theta = b.high;
    return b.link;
  }

 private:
  bool within(const Bracket& b, double theta) {
    task_.pair(theta, b.link.a, b.link.b, x_, y_);
    return squared_distance(x_, y_) <= task_.radius * task_.radius;
  }

  void halve(Bracket& b) {
    const double middle = 0.5 * (b.low + b.high);
    (within(b, middle) ? b.high : b.low) = middle;
  }

  /// The dyadic interval around what is known, as halving the whole step would give it.
  Bracket aligned(const Bracket& known) {
    Bracket b = known;
    b.low = 0, b.high = 1;
    while (!b.found()) {
      const double middle = 0.5 * (b.low + b.high);
      if (known.high <= middle)
        b.high = middle;
      else if (known.low >= middle)
        b.low = middle;
      else
        break;
    }
    return b;
  }

  const LinkSearch& task_;
  std::vector<double> x_, y_;
  bool known_;
};

}  // namespace

bool operator<(const Link& x, const Link& y) {
  return std::tie(x.theta, x.of_a, x.of_b) < std::tie(y.theta, y.of_a, y.of_b);
}

std::vector<Link> earliest_links(const LinkSearch& task, std::span<const LinkedCluster> clusters) {
  Search search(task);
  std::vector<std::optional<Bracket>> best(clusters.size());  // to the tree so far
  std::vector<std::size_t> outside(clusters.size() - 1);
  std::iota(outside.begin(), outside.end(), std::size_t{1});
  std::vector<Link> tree;
  for (std::size_t newest = 0; !outside.empty();) {
    auto next = outside.end();
    for (auto o = outside.begin(); o != outside.end(); ++o) {
      const auto [first, second] = std::minmax(newest, *o);
      std::optional<Bracket>& known = best[*o];
      std::optional<Bracket> found = search.link(clusters[first], clusters[second], known);
      if (found && (!known || search.earlier(*found, *known))) known = std::move(found);
      if (known && (next == outside.end() || search.earlier(*known, *best[*next]))) next = o;
    }
    newest = *next;
    tree.push_back(search.settled(*best[newest]));
    outside.erase(next);
  }
  return tree;
}

}  // namespace attractor::observe
