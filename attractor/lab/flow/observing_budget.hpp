// Which outputs of a run of many tokens are measured where nobody said how many. To measure
// everything costs as much as several velocities, so a hundred times in a run of twelve steps would
// cost more than the run. Beyond kObservedFreely tokens of the state an output is measured where
//
//   cost (measured so far + 1) <= kObservingShare * velocities so far,
//
// cost in velocities of the engine; the start, the end and every snapshot always. It is a function
// of counts alone: runs that were interrupted, on any number of threads or any machine, measure at
// the same times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "attractor/lab/flow/flow_setup.hpp"
#include "attractor/observe/observation.hpp"

namespace attractor::lab {

inline constexpr double kObservingShare = 0.2;

class ObservingBudget {
 public:
  /// `engine` moves the tokens (TokenFlow::engine()).
  ObservingBudget(const FlowSetup& setup, std::string_view engine);

  /// Whether a state of `tokens` is measured after so many steps, rejected ones included.
  bool allows(std::size_t tokens, std::uint64_t steps,
              std::span<const observe::Observation> measured) const;

 private:
  bool asked_;                // for a number of outputs or snapshots: all are measured
  double cost_, velocities_;  // of an output; of a step
};

}  // namespace attractor::lab
