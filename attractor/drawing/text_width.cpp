#include "attractor/drawing/text_width.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdint>

#include "attractor/report/markup.hpp"

namespace attractor::report {
namespace {

constexpr double kScript = 0.72;  // size of what is raised or lowered
constexpr double kRaise = 0.38, kLower = 0.18;

// Thousandths of the font's size, of DejaVu Sans 2.37.
constexpr std::array<std::uint16_t, 95> kAscii = {
    318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361,  318, 337, 636, 636, 636,
    636, 636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632,
    575, 775, 752, 295, 295, 656, 557, 863, 748, 787, 603, 787, 695, 635,  611, 732, 684, 989, 685,
    611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550, 635, 615, 352,  635, 634, 278, 278, 579,
    278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818, 592, 592,  525, 636, 337, 636, 838};

double character_width(char32_t c) {
  if (c >= 0x20 && c < 0x7f) return kAscii[c - 0x20] / 1000.0;
  if (c == 0x202f || c == 0x2009) return 0.2;                   // narrow spaces
  if (c == 0xb7 || c == 0x2019 || c == 0xa0) return 0.318;      // dot, apostrophe, space
  if (c == 0xb2 || c == 0xb3 || c == 0xb9) return 0.401;        // ² ³ ¹
  if (c >= 0x2070 && c < 0x208f) return 0.401;                  // other small digits
  if (c >= 0x391 && c < 0x3ca) return c < 0x3b1 ? 0.79 : 0.66;  // Greek, the widest letters
  if (c == 0x2013 || c == 0xb0) return 0.5;                     // – °
  if (c == 0x2212) return 0.838;                                // −
  if (c >= 0xc0 && c < 0x250) return 0.7;                       // Latin with accents
  return c >= 0x1100 ? 1.0 : 0.84;                              // signs; what is not known
}

double piece_width(const Piece& piece) {
  double sum = 0;
  for (std::size_t at = 0; at < piece.text.size();)
    sum += character_width(next_character(piece.text, at));
  return piece.level == 0 ? sum : kScript * sum;
}

}  // namespace

double text_width(std::string_view markup, double font_size) {
  double sum = 0;
  for (const Piece& piece : pieces(markup)) sum += piece_width(piece);
  return font_size * sum;
}

std::vector<std::string> wrapped(std::string_view markup, double width, double font_size) {
  std::vector<std::string> lines(1);
  std::size_t begin = 0;
  const auto take = [&](std::string_view word) {
    std::string& line = lines.back();
    std::string longer = line.empty() ? std::string(word) : line + " " + std::string(word);
    if (line.empty() || text_width(longer, font_size) <= width)
      line = std::move(longer);
    else
      lines.emplace_back(word);
  };
  bool script = false;
  for (std::size_t i = 0; i <= markup.size(); ++i) {
    const char c = i < markup.size() ? markup[i] : ' ';
    if (c == '{' && i > 0 && (markup[i - 1] == '^' || markup[i - 1] == '_')) script = true;
    if (c == '}') script = false;
    if (c != ' ' || (script && i < markup.size())) continue;
    if (i > begin) take(markup.substr(begin, i - begin));
    begin = i + 1;
  }
  return lines;
}

std::string svg_markup(std::string_view markup, double font_size) {
  std::string result;
  double height = 0;  // of the line the pen is on
  for (const Piece& piece : pieces(markup)) {
    const double wanted = piece.level > 0 ? kRaise : piece.level < 0 ? -kLower : 0;
    std::string text = html_text(piece.text);
    for (std::size_t at = 0; (at = text.find("&#39;", at)) != std::string::npos;)
      text.replace(at, 5, "’");
    if (wanted == height && piece.level == 0) {
      result += text;
      continue;
    }
    result +=
        fmt::format("<tspan dy=\"{:.3g}\"{}>{}</tspan>", (height - wanted) * font_size,
                    piece.level == 0 ? std::string()
                                     : fmt::format(" font-size=\"{:.3g}\"", kScript * font_size),
                    text);
    height = wanted;
  }
  return result;
}

}  // namespace attractor::report
