// A SelectRecord as files: result.h5 (docs/report_format.md), summary.json, and the page.
#pragma once

#include <filesystem>

#include "attractor/experiment/json.hpp"
#include "attractor/experiment/select_record.hpp"

namespace attractor::experiment {

/// What --json prints. Numbers that do not exist are null.
Json summary(const SelectRecord& record, double wall_seconds);

/// Bytes that depend on the problem and the parameters only.
void write_result_file(const SelectRecord& record, const std::filesystem::path& file);

/// result.h5, figures, page, and last summary.json, which marks the run as ended.
void write_select_result(const SelectRecord& record, double wall_seconds,
                         const std::filesystem::path& directory);

}  // namespace attractor::experiment
