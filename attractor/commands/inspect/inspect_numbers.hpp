// The numbers of an inspection as tables (states, layers, heads, clusters of the first text) and as
// arrays of result.h5, where every text has its row.
#pragma once

#include "attractor/commands/result.hpp"
#include "attractor/lab/inspect/inspect_record.hpp"

namespace attractor::lab {

std::vector<Table> inspect_tables(const InspectRecord& record);
void write_inspect(const InspectRecord& record, Archive& file);

/// The mean over draws and texts, and the band of draws at each place: least and largest.
models::Band null_band(const std::vector<std::vector<double>>& draws, std::size_t place);

}  // namespace attractor::lab
