#include "attractor/report/markup.hpp"

#include <algorithm>

namespace attractor::report {
namespace {

constexpr char32_t kUnknown = 0xfffd;

/// Allowed in XML 1.0, and so in HTML.
bool allowed(char32_t c) {
  if (c < 0x20) return c == '\t' || c == '\n' || c == '\r';
  return c != 0x7f && !(c >= 0x80 && c < 0xa0) && !(c >= 0xd800 && c < 0xe000) && c <= 0x10ffff &&
         c != 0xfffe && c != 0xffff;
}

void append_escaped(std::string& out, char32_t c, std::string_view bytes) {
  switch (c) {
    case '&':
      out += "&amp;";
      break;
    case '<':
      out += "&lt;";
      break;
    case '>':
      out += "&gt;";
      break;
    case '"':
      out += "&quot;";
      break;
    case '\'':
      out += "&#39;";
      break;
    case kUnknown:
      out += "\ufffd";
      break;
    default:
      out += bytes;
  }
}

}  // namespace

std::vector<Piece> pieces(std::string_view markup) {
  std::vector<Piece> result;
  const auto add = [&](std::string_view text, int level) {
    if (!text.empty()) result.push_back({text, level});
  };
  while (true) {
    const std::size_t open = std::min(markup.find("^{"), markup.find("_{"));
    const std::size_t close = open == markup.npos ? markup.npos : markup.find('}', open);
    if (close == markup.npos) {
      add(markup, 0);
      return result;
    }
    add(markup.substr(0, open), 0);
    add(markup.substr(open + 2, close - open - 2), markup[open] == '^' ? 1 : -1);
    markup.remove_prefix(close + 1);
  }
}

char32_t next_character(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t k) {
    return k < text.size() ? static_cast<unsigned char>(text[k]) : 0U;
  };
  const unsigned first = byte(at++);
  if (first < 0x80) return allowed(first) ? first : kUnknown;
  const int more = first >= 0xf0 && first < 0xf5 ? 3 : first >= 0xe0 ? 2 : first >= 0xc2 ? 1 : 0;
  if (more == 0 || first >= 0xf5) return kUnknown;
  char32_t c = first & (0x3fU >> static_cast<unsigned>(more));
  for (int k = 0; k < more; ++k) {
    if ((byte(at + static_cast<std::size_t>(k)) & 0xc0U) != 0x80) return kUnknown;
    c = c << 6U | (byte(at + static_cast<std::size_t>(k)) & 0x3fU);
  }
  constexpr char32_t kLeast[] = {0, 0x80, 0x800, 0x10000};
  if (c < kLeast[more]) return kUnknown;  // longer than need be
  at += static_cast<std::size_t>(more);
  return allowed(c) ? c : kUnknown;
}

std::string html_text(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    const char32_t c = next_character(text, at);
    append_escaped(result, c, text.substr(begin, at - begin));
  }
  return result;
}

std::string html_markup(std::string_view markup) {
  std::string result;
  for (const Piece& piece : pieces(markup)) {
    const std::string text = html_text(piece.text);
    if (piece.level == 0) result += text;
    if (piece.level > 0) result += "<sup>" + text + "</sup>";
    if (piece.level < 0) result += "<sub>" + text + "</sub>";
  }
  return result;
}

}  // namespace attractor::report
