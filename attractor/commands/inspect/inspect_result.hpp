// An InspectRecord as the one Result: values, tables, arrays, figures, page.
#pragma once

#include <memory>

#include "attractor/commands/result.hpp"
#include "attractor/lab/inspect/inspect_record.hpp"
#include "attractor/lab/inspect/inspect_setup.hpp"

namespace attractor::lab {

Result inspect_result(const InspectSetup& setup, std::shared_ptr<const InspectRecord> record);

/// Where the mean cosine falls from one state to the next: the layers, from 1.
std::vector<std::size_t> falling_layers(const InspectRecord& record);

}  // namespace attractor::lab
