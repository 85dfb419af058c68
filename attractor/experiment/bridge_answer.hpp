// A BridgeRecord as the one shape that every view is made from (answer.hpp).
#pragma once

#include "attractor/experiment/answer.hpp"
#include "attractor/experiment/bridge_experiment.hpp"

namespace attractor::experiment {

Answer bridge_answer(BridgeRecord record);

}  // namespace attractor::experiment
