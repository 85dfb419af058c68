// What a checkpoint says, against the run it is for: one function for each part of it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/lab/checkpoint_bytes.hpp"
#include "attractor/lab/flow/checkpoint.hpp"
#include "attractor/observe/pairs.hpp"
#include "attractor/space/space.hpp"

namespace attractor::lab {
namespace {

constexpr double kLength = 1e-9;  // how far from 1 rounding may take the length of a token

class Content {
 public:
  Content(const Checkpoint& checkpoint, const RunShape& shape, const std::string& name)
      : c_(checkpoint), shape_(shape), name_(name) {}

  void check() const {
    const std::size_t groups = check_place();
    check_tree();
    check_series();
    check_snapshots();
    check_groups(groups);
  }

  void check_state() const { check_groups(check_place()); }

 private:
  void require(bool good, const std::string& what) const {
    if (!good) refuse_content(name_, what);
  }

  std::size_t check_place() const {
    const std::size_t groups = check_owner();
    validate(c_.progress, groups * shape_.width, name_);
    require(shape_.outputs == 0 || c_.progress.next_output <= shape_.outputs,
            "is ahead of its outputs");
    if (shape_.width == shape_.dim) check_lengths(c_.progress.state, "its state");
    check_order();
    check_coalescences(groups);
    return groups;
  }

  void check_groups(std::size_t groups) const {
    check_book(groups);
    // A flow ends where logits are not finite: no run goes on from there.
    require(c_.layer_status == LayerStatus::complete ||
                c_.layer_status == LayerStatus::sinkhorn_unconverged,
            "has a status of attention that is unknown");
    require(c_.clumps.steps_by_rows <= c_.progress.steps,
            "has more steps by rows of all pairs than steps");
    require(c_.clumps.error >= 0 && std::isfinite(c_.clumps.error),
            "has an error of sums over clumps that is none");
  }

  void require_size(std::size_t have, std::size_t needed, const char* what) const {
    require(have == needed, fmt::format("has {} {}; {} tokens in dimension {} need {}", have, what,
                                        shape_.tokens, shape_.dim, needed));
  }

  bool is_token(std::uint32_t i) const { return i < shape_.tokens; }

  static bool all_finite(std::span<const double> values) {
    return std::all_of(values.begin(), values.end(), [](double x) { return std::isfinite(x); });
  }

  void check_lengths(std::span<const double> tokens, const char* what) const {
    if (!shape_.on_sphere || shape_.lengths) return;
    for (std::size_t i = 0; i < tokens.size(); i += shape_.dim)
      require(std::abs(norm(tokens.subspan(i, shape_.dim)) - 1) <= kLength,
              fmt::format("has tokens off the sphere in {}", what));
  }

  /// Every number from 0 to the largest is there; returns how many they are.
  std::size_t check_numbering(const std::vector<std::uint32_t>& labels, const char* what) const {
    std::vector<bool> seen(shape_.tokens, false);
    std::size_t count = 0;
    for (const std::uint32_t label : labels) {
      require(is_token(label), fmt::format("has the number {} among {}", label, what));
      count += !seen[label];
      seen[label] = true;
    }
    require(std::find(seen.begin(), seen.begin() + static_cast<std::ptrdiff_t>(count), false) ==
                seen.begin() + static_cast<std::ptrdiff_t>(count),
            fmt::format("leaves out a number among {}", what));
    return count;
  }

  std::size_t check_owner() const {
    require_size(c_.owner.size(), shape_.tokens, "owners of tokens");
    return check_numbering(c_.owner, "owners of tokens");
  }

  void check_order() const {
    require_size(c_.order.size(), shape_.ordered ? shape_.tokens : 0, "places of tokens");
    require(!shape_.ordered || check_numbering(c_.order, "places of tokens") == shape_.tokens,
            "puts two tokens in one place");
  }

  // Whatever is recorded happened in this order, up to the present.
  template <class Events, class TimeOf>
  void check_times(const Events& events, const TimeOf& time_of, const char* what) const {
    double last = -kInfinity;
    for (const auto& event : events) {
      const double now = time_of(event);
      require(!std::isnan(now) && in_order(last, now), fmt::format("has {} out of order", what));
      last = now;
    }
    require(in_order(last, c_.progress.time.log()), fmt::format("has {} after its time", what));
  }

  template <class Events>
  void check_times(const Events& events, const char* what) const {
    for (const auto& event : events)
      require(is_time(event.time), fmt::format("has {} at a time that does not exist", what));
    check_times(
        events, [](const auto& event) { return event.time.log(); }, what);
  }

  void check_coalescences(std::size_t groups) const {
    require(c_.coalescences.size() >= shape_.tokens - groups,
            fmt::format("has {} coalescences; {} tokens in {} groups need more",
                        c_.coalescences.size(), shape_.tokens, groups));
    check_times(c_.coalescences, "coalescences");
    for (const depth::Coalescence& one : c_.coalescences)
      require(is_token(one.into) && is_token(one.absorbed) && one.into != one.absorbed &&
                  one.error >= 0 && std::isfinite(one.error),
              "has a coalescence of tokens that do not exist");
  }

  void check_book(std::size_t groups) const {
    require(groups == shape_.tokens || !c_.book.parent.empty(),
            "does not say where the members of its groups are");
    require(shape_.width == shape_.dim || c_.book.parent.empty(), "has groups of angles");
    try {
      depth::TokenGroups(shape_.tokens).restore(c_.owner, {}, c_.book, shape_.dim);
    } catch (const Error&) {
      require(false, "has a damaged book of coalesced tokens");
    }
  }

  void check_tree() const {
    require_size(c_.labels.size(), shape_.watched ? shape_.tokens : 0, "labels of tokens");
    const std::size_t clusters = check_numbering(c_.labels, "labels of tokens");
    check_times(c_.merges, "mergers");
    std::vector<std::uint32_t> parent(shape_.tokens);
    std::iota(parent.begin(), parent.end(), 0U);
    const auto root = [&](std::uint32_t i) {
      while (parent[i] != i) i = parent[i] = parent[parent[i]];
      return i;
    };
    for (const observe::Merge& merge : c_.merges) {
      require(is_token(merge.a) && is_token(merge.b), "has a merger of tokens that do not exist");
      require(root(merge.a) != root(merge.b), "has a merger of what was one already");
      parent[root(merge.a)] = root(merge.b);
    }
    require(clusters + c_.merges.size() <= shape_.tokens, "has more clusters than mergers leave");
  }

  void check_series() const {
    require(c_.progress.started == !c_.series.empty(), "has begun without an observation");
    check_times(
        c_.series, [](const observe::Observation& o) { return o.log10_time * std::log(10.0); },
        "observations");
    const auto counts = [&](double x) {
      return x >= 1 && x <= static_cast<double>(shape_.tokens) && x == std::floor(x);
    };
    for (const observe::Observation& o : c_.series)
      require(o.more.size() == shape_.observables, "has other observables than this run");
    for (const observe::Observation& o : c_.series)
      require(counts(o.clusters) && counts(o.largest_cluster) && counts(o.distinct_tokens) &&
                  (o.sampled == 0 || o.sampled == 1),
              "has an observation that counts tokens that do not exist");
  }

  void check_snapshots() const {
    require(c_.progress.started == !c_.snapshots.empty(), "has begun without a snapshot");
    check_times(c_.snapshots, "snapshots");
    for (const Snapshot& s : c_.snapshots) {
      require_size(s.positions.size(), shape_.tokens * shape_.dim, "numbers in a snapshot");
      require(all_finite(s.positions), "has a snapshot that is not finite");
      check_lengths(s.positions, "a snapshot");
      require_size(s.clusters.size(), shape_.tokens, "labels in a snapshot");
      check_numbering(s.clusters, "labels of a snapshot");
      require(s.cosine_histogram.size() == observe::kCosineBins && all_finite(s.cosine_histogram),
              "has a histogram of cosines that is none");
      require_size(s.norms.size(), shape_.lengths ? shape_.tokens : 0, "lengths in a snapshot");
      require(std::all_of(s.norms.begin(), s.norms.end(),
                          [](double r) { return r >= 0 && std::isfinite(r); }),
              "has a length that is none");
    }
  }

  const Checkpoint& c_;
  const RunShape& shape_;
  const std::string& name_;
};

}  // namespace

void validate(const Checkpoint& checkpoint, const RunShape& shape, const std::string& name) {
  Content(checkpoint, shape, name).check();
}

void validate_state(const Checkpoint& checkpoint, const RunShape& shape, const std::string& name) {
  Content(checkpoint, shape, name).check_state();
}

}  // namespace attractor::lab
