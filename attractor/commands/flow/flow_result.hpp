// A FlowRecord as the one shape that every view is made from (answer.hpp).
#pragma once

#include <optional>

#include "attractor/experiment/flow_record.hpp"
#include "attractor/experiment/flow_verify.hpp"
#include "attractor/experiment/result.hpp"

namespace attractor::experiment {

Result flow_result(FlowRecord record, const std::optional<Verification>& verified = {});

/// `attractor flow ...` with the parameters of the record.
Call flow_call(FlowParameters& now, FlowParameters& usual);

}  // namespace attractor::experiment
