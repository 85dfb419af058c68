// What tokenizers ask of Unicode: characters of UTF-8 text, their kinds, and text in normal form.
// Bytes that are no UTF-8 become U+FFFD, as in every tokenizer that takes strings.
#pragma once

#include <string>
#include <string_view>

namespace attractor::text {

std::u32string characters(std::string_view utf8);
std::string utf8(std::u32string_view characters);
std::string utf8(char32_t character);

bool is_letter(char32_t c);       // \p{L}
bool is_number(char32_t c);       // \p{N}
bool is_punctuation(char32_t c);  // \p{P}
bool is_control(char32_t c);      // \p{C}
bool is_mark(char32_t c);         // \p{Mn}
bool is_space(char32_t c);        // White_Space
bool is_han(char32_t c);          // the blocks of Chinese characters that BERT takes apart

/// Canonical forms, decomposed and composed.
std::u32string decomposed(std::u32string_view text);
std::u32string composed(std::u32string_view text);
std::u32string lower(std::u32string_view text);

}  // namespace attractor::text
