// A SelectRecord as the one shape that every view is made from (commands/result.hpp).
#pragma once

#include "attractor/commands/result.hpp"
#include "attractor/lab/select/select_record.hpp"

namespace attractor::lab {

Result select_result(SelectRecord record);

}  // namespace attractor::lab
