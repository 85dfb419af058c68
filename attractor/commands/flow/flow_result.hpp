// A FlowRecord as the one shape that every view is made from (commands/result.hpp).
#pragma once

#include <optional>

#include "attractor/commands/result.hpp"
#include "attractor/lab/flow/flow_record.hpp"
#include "attractor/lab/flow/flow_verify.hpp"

namespace attractor::lab {

Result flow_result(FlowRecord record, const std::optional<Verification>& verified = {});

}  // namespace attractor::lab
