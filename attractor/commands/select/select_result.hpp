// A SelectRecord as the one shape that every view is made from (answer.hpp).
#pragma once

#include "attractor/experiment/result.hpp"
#include "attractor/experiment/select_record.hpp"

namespace attractor::experiment {

Result select_result(SelectRecord record);

}  // namespace attractor::experiment
