// Which outputs of a flow keep all positions.
//   planned times: evenly many of them, as many as were asked for; where such an output was not
//     measured (observing_budget.hpp), the next one that is;
//   after every step, a number asked for: every s-th step with s = 1, 2, 4, ..., twice as often as
//     needed, of which the end leaves as many as were asked for, evenly in steps: nobody knows
//     before how many steps there will be;
//   after every step otherwise: whenever the number of distinct tokens first falls to one of n/2,
//     n/4, ..., 5, 4, 3, 2, 1.
// All of it is a function of the number of the output, so a run that was interrupted chooses alike.
#pragma once

#include <cstddef>
#include <vector>

#include "attractor/lab/flow/flow_record.hpp"

namespace attractor::lab {

class SnapshotChoice {
 public:
  /// planned: number of planned outputs, 0 if every step is one. Throws Error if more snapshots
  /// were asked for than there are planned outputs.
  SnapshotChoice(const FlowSetup& setup, std::size_t planned, std::size_t tokens, std::size_t dim);

  /// output: its number, from 0; taken: snapshots so far; before, now: distinct tokens at the one
  /// before and at this one.
  bool wants(std::size_t output, std::size_t taken, std::size_t before, std::size_t now) const;
  /// Before a snapshot of this output is added: drops those that are kept no longer.
  void thin(std::size_t output, std::vector<Snapshot>& kept) const;
  /// When the last one, the end, was added.
  void finish(std::vector<Snapshot>& kept) const;

 private:
  bool thins() const { return planned_ == 0 && asked_; }
  std::size_t stride(std::size_t output) const;

  std::size_t count_, planned_;
  bool asked_;
  std::vector<std::size_t> indices_{}, levels_{};
};

}  // namespace attractor::lab
