// TOML that somebody else wrote: configurations, run.toml, studies. toml++ walks tables by calling
// itself, so a key of 10^5 dots would end the program; how deep a text goes is counted before the
// parser sees it: dots of one key, and brackets and braces that are open.
#pragma once

#include <toml++/toml.h>
#include <cstddef>
#include <string>
#include <string_view>

namespace attractor::lab {

inline constexpr std::size_t kTomlDepth = 32;

/// `name` is what messages call it. Throws Error, with the line, on what is no TOML and on a key of
/// more than 32 parts or lists and tables within each other more than 32 times.
toml::table parse_toml(std::string_view text, const std::string& name);

}  // namespace attractor::lab
