#include "attractor/text/unicode.hpp"

#include <utf8proc.h>

#include <cstdlib>
#include <new>

namespace attractor::text {
namespace {

utf8proc_category_t category(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

std::u32string in_form(std::u32string_view text, utf8proc_option_t form) {
  const std::string bytes = utf8(text);
  utf8proc_uint8_t* made = nullptr;
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | form);
  const utf8proc_ssize_t length =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(bytes.data()),
                   static_cast<utf8proc_ssize_t>(bytes.size()), &made, options);
  if (length < 0) throw std::bad_alloc();  // the text is UTF-8: nothing else can fail
  std::u32string result = characters(
      std::string_view(reinterpret_cast<const char*>(made), static_cast<std::size_t>(length)));
  std::free(made);
  return result;
}

}  // namespace

std::u32string characters(std::string_view utf8) {
  std::u32string all;
  all.reserve(utf8.size());
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(utf8.data());
  for (std::size_t at = 0; at < utf8.size();) {
    utf8proc_int32_t c = 0;
    const utf8proc_ssize_t length =
        utf8proc_iterate(bytes + at, static_cast<utf8proc_ssize_t>(utf8.size() - at), &c);
    all.push_back(length > 0 ? static_cast<char32_t>(c) : U'\uFFFD');
    at += length > 0 ? static_cast<std::size_t>(length) : 1;
  }
  return all;
}

std::string utf8(char32_t character) {
  utf8proc_uint8_t bytes[4];
  const utf8proc_ssize_t length =
      utf8proc_encode_char(static_cast<utf8proc_int32_t>(character), bytes);
  return {reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(length)};
}

std::string utf8(std::u32string_view text) {
  std::string bytes;
  for (const char32_t c : text) bytes += utf8(c);
  return bytes;
}

bool is_letter(char32_t c) {
  const utf8proc_category_t k = category(c);
  return k >= UTF8PROC_CATEGORY_LU && k <= UTF8PROC_CATEGORY_LO;
}
bool is_number(char32_t c) {
  const utf8proc_category_t k = category(c);
  return k >= UTF8PROC_CATEGORY_ND && k <= UTF8PROC_CATEGORY_NO;
}
bool is_punctuation(char32_t c) {
  const utf8proc_category_t k = category(c);
  return k >= UTF8PROC_CATEGORY_PC && k <= UTF8PROC_CATEGORY_PO;
}
bool is_control(char32_t c) {
  const utf8proc_category_t k = category(c);
  return k == UTF8PROC_CATEGORY_CC || k == UTF8PROC_CATEGORY_CF || k == UTF8PROC_CATEGORY_CO ||
         k == UTF8PROC_CATEGORY_CS || k == UTF8PROC_CATEGORY_CN;
}
bool is_mark(char32_t c) { return category(c) == UTF8PROC_CATEGORY_MN; }

bool is_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0d) || c == 0x85 || category(c) == UTF8PROC_CATEGORY_ZS ||
         category(c) == UTF8PROC_CATEGORY_ZL || category(c) == UTF8PROC_CATEGORY_ZP;
}

bool is_han(char32_t c) {
  const auto in = [c](char32_t low, char32_t high) { return c >= low && c <= high; };
  return in(0x4e00, 0x9fff) || in(0x3400, 0x4dbf) || in(0x20000, 0x2a6df) || in(0x2a700, 0x2b73f) ||
         in(0x2b740, 0x2b81f) || in(0x2b820, 0x2ceaf) || in(0xf900, 0xfaff) || in(0x2f800, 0x2fa1f);
}

std::u32string decomposed(std::u32string_view text) { return in_form(text, UTF8PROC_DECOMPOSE); }
std::u32string composed(std::u32string_view text) { return in_form(text, UTF8PROC_COMPOSE); }

std::u32string lower(std::u32string_view text) {
  std::u32string all;
  for (const char32_t c : text)
    if (c == U'\u0130')
      all += U"i\u0307";  // the one character whose lower case is two
    else
      all.push_back(static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
  return all;
}

}  // namespace attractor::text
