// A SelectRecord as numbers: the values of its summary and the arrays of its result.h5
// (docs/report_format.md).
#pragma once

#include "attractor/lab/json.hpp"
#include "attractor/lab/select/select_record.hpp"
#include "attractor/report/archive.hpp"

namespace attractor::lab {

/// Numbers that do not exist are null.
Json select_values(const SelectRecord& record);

void write_arrays(const SelectRecord& record, Archive& file);

}  // namespace attractor::lab
