#include "attractor/report/html.hpp"

#include <algorithm>

namespace attractor::report {

std::string html_text(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string html_markup(std::string_view text) {
  std::string result;
  while (true) {
    const std::size_t open = std::min(text.find("^{"), text.find("_{"));
    const std::size_t close = open == text.npos ? text.npos : text.find('}', open);
    if (close == text.npos) return result + html_text(text);
    const std::string tag = text[open] == '^' ? "sup" : "sub";
    result += html_text(text.substr(0, open)) + "<" + tag + ">" +
              html_text(text.substr(open + 2, close - open - 2)) + "</" + tag + ">";
    text.remove_prefix(close + 1);
  }
}

}  // namespace attractor::report
