#include "attractor/lab/wrap.hpp"

#include <algorithm>

namespace attractor::lab {
namespace {

bool begins_letter(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; }

}  // namespace

std::size_t columns(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_letter));
}

std::string shortened(const std::string& text, std::size_t width) {
  if (columns(text) <= width) return text;
  if (width == 0) return "";
  std::string kept;
  std::size_t letters = 0;
  for (const char byte : text) {
    if (begins_letter(byte) && ++letters == width) break;
    kept += byte;
  }
  return kept + "…";
}

std::string wrapped(const std::string& text, std::size_t indent, std::size_t width) {
  if (width == 0) return text;
  std::string lines;
  std::size_t column = indent;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    if (column > indent && column + 1 + columns(word) > width) {
      lines += "\n" + std::string(indent, ' ');
      column = indent;
    }
    lines += (column > indent ? " " : "") + word;
    column += (column > indent ? 1 : 0) + columns(word);
    begin = end + 1;
  }
  return lines;
}

}  // namespace attractor::lab
