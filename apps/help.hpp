// Help, written from the lists of parameters and wrapped to a width.
#pragma once

#include <string>
#include <vector>

#include "apps/tool.hpp"

namespace attractor::apps {

/// All tools.
std::string program_help(const std::vector<Tool>& tools, std::size_t width);
/// The tools whose names begin with this word and a space; empty if there are none.
std::string family_help(const std::string& family, const std::vector<Tool>& tools,
                        std::size_t width);
/// What most users want of a tool, or all it takes, with every range.
std::string short_help(const Tool& tool, std::size_t width);
std::string long_help(const Tool& tool, std::size_t width);

}  // namespace attractor::apps
