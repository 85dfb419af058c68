// What a spectral method cuts off. Modes 1 .. K are kept; the equations of modes K+1 .. 2K, which
// are not, say at which rate they would be fed:
//
//   c' = F(t) - damping c,   F the largest feed of a missing mode, known at every state,
//
// so c is the size that a missing mode would have. It sees any symmetry (a density of m-fold
// symmetry lives on multiples of m, one of which lies between K+1 and 2K), is 0 where nothing is
// lost, and needs no decay of the modes that are kept. Beyond `double_above` the number of modes is
// doubled; where that is not allowed the run goes on, up to `give_up_above`.
//
// c is an estimate that steers the number of modes. How wrong the kept modes are is told by a twin:
// a run with twice the modes at all times (`twin_of`), compared by whoever wants to know.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "attractor/flow/time.hpp"

namespace attractor::meanfield {

struct ModePlan {
  std::size_t modes = 64;      // K at the start
  std::size_t max_modes = 64;  // K is doubled up to this
  double double_above = 1e-13;
  double give_up_above = 1e-3;
  /// Of a twin: K is doubled at these times and at no others, and nothing is watched.
  bool twin = false;
  std::vector<flow::Time> doublings{};
};

class Truncation {
 public:
  explicit Truncation(const ModePlan& plan) : plan_(plan), modes_(plan.modes) {}

  std::size_t modes() const { return modes_; }
  bool watches() const { return !plan_.twin; }
  /// At the time `now`: the feed F and the damping, per unit e^log_unit of time, since the last
  /// call. True if the number of modes has doubled.
  bool meet(const flow::Time& now, double feed, double damping, double log_unit);

  /// The largest c of the whole run.
  double largest_missing() const { return largest_; }
  /// A missing mode was beyond give_up_above at max_modes: the state is no answer any more.
  bool unresolved() const { return unresolved_; }
  const std::vector<flow::Time>& doublings() const { return doublings_; }

 private:
  bool due(const flow::Time& now) const;

  ModePlan plan_;
  std::size_t modes_;
  flow::Time last_;
  double missing_ = 0, largest_ = 0;
  bool unresolved_ = false;
  std::vector<flow::Time> doublings_{};
};

/// Twice the modes of a run, from its start to its end.
ModePlan twin_of(std::size_t first_modes, std::vector<flow::Time> doublings);

}  // namespace attractor::meanfield
