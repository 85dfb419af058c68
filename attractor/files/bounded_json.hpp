// JSON that somebody else wrote, as a tree of bounded size: what it will take in memory is counted
// while it is read, and the reading ends with an Error before it is too much. nlohmann's tree is
// used, because objects of 10^5 members (vocabularies) are looked into by name.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace attractor {

inline constexpr std::size_t kJsonMemory = std::size_t{48} << 20;
inline constexpr std::size_t kJsonDepth = 64;

/// `name` is what messages call it. Throws Error on what is no JSON, is nested deeper than 64, has
/// a key twice, or would take more than `limit` bytes of memory.
nlohmann::json bounded_json(std::string_view text, std::string_view name,
                            std::size_t limit = kJsonMemory);

/// A piece of a file fit for a message: short, on one line, and plain.
std::string shown_text(std::string_view text);

}  // namespace attractor
