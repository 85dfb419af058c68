// A FlowRecord as files: result.h5 (docs/report_format.md), summary.json, and the page.
#pragma once

#include <filesystem>

#include "attractor/experiment/flow_record.hpp"
#include "attractor/experiment/json.hpp"

namespace attractor::experiment {

/// What --json prints: the end state and how it was reached. Numbers that do not exist are null.
Json summary(const FlowRecord& record, double wall_seconds);

/// Bytes that depend on the parameters only: no host, no clock, no threads.
void write_result_file(const FlowRecord& record, const std::filesystem::path& file);

/// result.h5, figures, page, and last summary.json, which marks the run as ended.
void write_result(const FlowRecord& record, double wall_seconds,
                  const std::filesystem::path& directory);

/// An upper estimate of what write_result() needs on disk, for an early refusal.
double result_bytes(std::size_t tokens, std::size_t dim, const FlowParameters& parameters);

}  // namespace attractor::experiment
