// A BridgeRecord as the one shape that every view is made from (answer.hpp).
#pragma once

#include "attractor/experiment/bridge_experiment.hpp"
#include "attractor/experiment/result.hpp"

namespace attractor::experiment {

Result bridge_result(BridgeRecord record);

}  // namespace attractor::experiment
