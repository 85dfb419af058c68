// Which original tokens each token of a state stands for. At first each stands for itself; a flow
// that coalesces tokens (coalesce.hpp) shortens its state and keeps the book here.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attractor/flow/time.hpp"

namespace attractor::depth {

/// One replacement of several tokens by one.
struct Coalescence {
  flow::Time time;
  std::uint32_t into;      // original token that names the group
  std::uint32_t absorbed;  // original token that named the absorbed group
  double error;            // leading-order bound on the displacement committed
};

/// Tokens of a state to be replaced by one at their centre.
struct Group {
  std::vector<std::uint32_t> members;  // tokens of the state, ascending
  std::vector<double> centre;
  double error;  // (1 + beta) S
};

class TokenGroups {
 public:
  explicit TokenGroups(std::size_t tokens);

  /// Tokens of the state.
  std::size_t count() const { return masses_.size(); }
  /// Original tokens that each stands for.
  std::span<const double> masses() const { return masses_; }
  double total() const { return static_cast<double>(owner_.size()); }
  /// For each original token, the token of the state it now belongs to.
  std::span<const std::uint32_t> owner() const { return owner_; }
  const std::vector<Coalescence>& coalescences() const { return coalescences_; }
  double merge_error() const { return merge_error_; }

  /// The state of all original tokens.
  std::vector<double> expand(std::span<const double> state) const;

  /// Replaces each group by one token; closes the gaps in the state, keeping the order of tokens.
  void coalesce(const std::vector<Group>& groups, const flow::Time& now,
                std::vector<double>& state);

  /// For a resumed run.
  void restore(std::vector<std::uint32_t> owner, std::vector<Coalescence> coalescences,
               double merge_error);

 private:
  void set_owner(std::vector<std::uint32_t> owner);

  std::vector<double> masses_;
  std::vector<std::uint32_t> owner_, names_;  // names_: first original token of each state token
  std::vector<Coalescence> coalescences_;
  double merge_error_ = 0;
};

}  // namespace attractor::depth
