// A FlowRecord as numbers: the values of its summary, the arrays of its result.h5
// (docs/report_format.md), and its observations over time.
#pragma once

#include "attractor/lab/flow/flow_record.hpp"
#include "attractor/lab/json.hpp"
#include "attractor/report/archive.hpp"

namespace attractor::lab {

/// The end state and how it was reached. Numbers that do not exist are null.
Json flow_values(const FlowRecord& record);

void write_arrays(const FlowRecord& record, Archive& file);

/// Every observable as a list over the outputs.
Json series_of(const FlowRecord& record);

/// An upper estimate of what the result needs on disk, for an early refusal.
double result_bytes(std::size_t tokens, std::size_t dim, const FlowSetup& parameters);

}  // namespace attractor::lab
