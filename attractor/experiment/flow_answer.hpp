// A FlowRecord as the one shape that every view is made from (answer.hpp).
#pragma once

#include <optional>

#include "attractor/experiment/answer.hpp"
#include "attractor/experiment/flow_record.hpp"
#include "attractor/experiment/flow_verify.hpp"

namespace attractor::experiment {

Answer flow_answer(FlowRecord record, const std::optional<Verification>& verified = {});

/// `attractor flow ...` with the parameters of the record.
Question flow_question(FlowParameters& now, FlowParameters& usual);

}  // namespace attractor::experiment
