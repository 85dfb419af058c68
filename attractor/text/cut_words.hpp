// Text cut into the stretches that byte pairs never join across, as the expressions of three
// families do (\p{L} letters, \p{N} numbers, \s spaces):
//
//   gpt2     's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//   llama3   (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|
//             ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
//   qwen2    as llama3 with \p{N} for \p{N}{1,3}
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attractor::text {

enum class Cut { none, gpt2, llama3, qwen2 };

std::vector<std::string> cut_words(std::string_view text, Cut cut);

/// The way whose expression this is; nothing for another one.
std::optional<Cut> cut_of(std::string_view expression);

}  // namespace attractor::text
