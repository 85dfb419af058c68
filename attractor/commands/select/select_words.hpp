// A training run in words and counts that text, page and figures share.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "attractor/lab/select/select_record.hpp"

namespace attractor::lab {

/// What the record calls its attention weights: "p" or "W".
std::string attention_name(const SelectRecord& record);

/// Starts that end with each limit; the last: not settled.
std::vector<std::size_t> basin_counts(const training::Basins& basins);

/// "0 2 1"; of many inputs the first twelve and an ellipsis.
std::string token_list(std::span<const std::size_t> chosen);

}  // namespace attractor::lab
