// A SelectRecord as the one shape that every view is made from (answer.hpp).
#pragma once

#include "attractor/experiment/answer.hpp"
#include "attractor/experiment/select_record.hpp"

namespace attractor::experiment {

Answer select_answer(SelectRecord record);

}  // namespace attractor::experiment
