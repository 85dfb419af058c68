// A BridgeRecord as the one shape that every view is made from (commands/result.hpp).
#pragma once

#include "attractor/commands/result.hpp"
#include "attractor/lab/select/bridge_experiment.hpp"

namespace attractor::lab {

Result bridge_result(BridgeRecord record);

}  // namespace attractor::lab
