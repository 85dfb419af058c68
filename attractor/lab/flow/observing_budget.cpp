#include "attractor/lab/flow/observing_budget.hpp"

#include <algorithm>

#include "attractor/flow/tableau.hpp"

namespace attractor::lab {
namespace {

// Everything that is measured of a state, in velocities of the engine that moves it, by processor
// time (docs/decisions/engines.md).
double cost_in_velocities(std::string_view engine) {
  if (engine == "circle" || engine == "sphere") return 100;  // close pairs are counted one by one
  if (engine == "clumps") return 50;
  if (engine == "moments") return 20;
  return 4;
}

}  // namespace

ObservingBudget::ObservingBudget(const FlowSetup& setup, std::string_view engine)
    : asked_(setup.outputs.has_value() || setup.snapshots.has_value()),
      cost_(cost_in_velocities(engine)),
      velocities_(static_cast<double>(flow::tableau(stepper_of(setup)).stages())) {}

bool ObservingBudget::allows(std::size_t tokens, std::uint64_t steps,
                             std::span<const observe::Observation> measured) const {
  if (asked_ || tokens <= kObservedFreely || measured.empty()) return true;
  const auto large = std::count_if(measured.begin() + 1, measured.end(), [](const auto& o) {
    return o.distinct_tokens > static_cast<double>(kObservedFreely);
  });
  return cost_ * static_cast<double>(large + 1) <=
         kObservingShare * velocities_ * static_cast<double>(steps);
}

}  // namespace attractor::lab
