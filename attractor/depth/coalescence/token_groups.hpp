// Which original tokens each token of a state stands for, and where they are. At first each stands
// for itself; a flow that coalesces tokens (coalesce.hpp) shortens its state and keeps the book
// here. A token of the state that stands for several lies at their centre c, and
//
//   x_i = c + xi_i,   xi_i the sum of the offsets from token i up to its group,
//
// in a tree whose leaves are the original tokens and whose inner nodes are groups that were
// replaced: offsets of a group that joins another stay what they are. All offsets below one token
// of the state obey one linear equation (linearised_row.hpp), so at most dim vectors are carried
// for it; each is a unit vector with a logarithm, which e^{-t} does not underflow. Memory O(n d).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "attractor/flow/time.hpp"

namespace attractor::depth {

/// One replacement of several tokens by one.
struct Coalescence {
  flow::Time time;
  std::uint32_t into;      // original token that names the group
  std::uint32_t absorbed;  // original token that named the absorbed group
  double error;            // displacement committed, to leading order in the radius
};

/// Tokens of a state to be replaced by one at their centre.
struct Group {
  std::vector<std::uint32_t> members;  // tokens of the state, ascending
  std::vector<double> centre;
  double error = 0;  // bound on the displacement of any token
};

/// Vectors u_k e^{log_k}, |u_k| = 1 or 0.
struct LogVectors {
  std::vector<double> unit, log;
};

/// The offsets below one token of the state.
struct Offsets {
  std::vector<std::uint32_t> nodes;  // parents first; empty: an original token
  bool axes = false;                 // carried are the images of the axes: offsets are many
  LogVectors base;                   // axes: the offsets when carrying began
  LogVectors start, now;             // carried, at the beginning of the step and at present
  double relative_error = 0;         // of the offsets, by leaving out their second order

  std::size_t carried() const { return now.log.size(); }
  /// Of nodes[k], at present.
  void read(std::size_t k, std::size_t dim, std::span<double> out) const;
};

class TokenGroups {
 public:
  explicit TokenGroups(std::size_t tokens);

  /// Tokens of the state.
  std::size_t count() const { return masses_.size(); }
  /// Original tokens that each stands for.
  std::span<const double> masses() const { return masses_; }
  double total() const { return static_cast<double>(owner_.size()); }
  /// The first original token of each.
  std::span<const std::uint32_t> names() const { return names_; }
  /// For each original token, the token of the state it now belongs to.
  std::span<const std::uint32_t> owner() const { return owner_; }
  const std::vector<Coalescence>& coalescences() const { return coalescences_; }

  /// The state of all original tokens.
  std::vector<double> expand(std::span<const double> state) const;
  /// xi_i of every original token; empty without any.
  std::vector<double> offsets() const;
  /// The longest offset below a token of the state.
  double extent(std::size_t token) const;
  /// Some token stands for several.
  bool has_offsets() const { return !below_.empty(); }

  /// What leaving out second orders may have displaced an original token by, in total: the shifts
  /// of tokens of the state, and the errors of offsets.
  double merge_error() const;
  /// Largest relative error of an offset, for its own linear equation; that of 1 - cosine within a
  /// group is at most twice it.
  double offset_error() const;

  /// Replaces each group by one token; closes the gaps in the state, keeping the order of tokens.
  /// Returns where each token of the state has gone.
  std::vector<std::uint32_t> coalesce(const std::vector<Group>& groups, const flow::Time& now,
                                      std::vector<double>& state);
  /// Replaces a token by the members it was last made of.
  void split(std::size_t token, std::vector<double>& state);

  /// The last coalescences, one for each of the groups, displaced tokens by this much ...
  void count_committed(double error, const std::vector<Group>& groups);
  /// ... or, not followed further, by at most this.
  void count_bound(double error) { bound_ += error; }

  // What the flow moves along with the state.
  std::span<Offsets> below() { return below_; }
  std::span<const Offsets> below() const { return below_; }
  /// Estimated displacement by coalescence (merge_shift.hpp): of each token of the state beside a
  /// delay; empty: none.
  std::vector<double>& shift() { return shift_; }
  const std::vector<double>& shift() const { return shift_; }
  /// All tokens are where they should have been so much earlier, in units e^log_unit of time; they
  /// move at most at this speed.
  struct Delay {
    double time = 0, log_unit = 0, speed = 0;
  };
  Delay& delay() { return delay_; }

  /// All of it beside owner and coalescences, for a checkpoint.
  struct Book {
    std::vector<std::uint32_t> parent;
    std::vector<double> numbers;
  };
  Book book() const;
  /// For a resumed run. Throws Error on what does not fit.
  void restore(std::vector<std::uint32_t> owner, std::vector<Coalescence> coalescences,
               const Book& book, std::size_t dim);

 private:
  void set_owner(std::vector<std::uint32_t> owner);
  void adopt(const Group& group, std::span<const double> state, std::size_t dim);
  void each_member(
      std::size_t token, std::size_t dim,
      const std::function<void(std::uint32_t original, std::span<const double>)>&) const;
  void check_tree() const;
  std::size_t dim_of(std::span<const double> state) const { return state.size() / count(); }

  std::vector<double> masses_;
  std::vector<std::uint32_t> owner_, names_;  // names_: first original token of each state token
  std::vector<Coalescence> coalescences_;
  std::vector<std::uint32_t> parent_, root_;  // of nodes; node of each token. Empty: no offsets
  std::vector<Offsets> below_;                // of each token of the state. Empty: no offsets
  std::vector<double> shift_;
  Delay delay_;
  double bound_ = 0;
  std::size_t dim_ = 0;  // once there are offsets
};

}  // namespace attractor::depth
