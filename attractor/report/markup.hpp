// Markup of figures, tiles and captions: plain text in which ^{...} raises and _{...} lowers. Bytes
// that are no UTF-8 and characters that no document may hold become U+FFFD, whoever wrote them:
// names of files and words of studies end up here.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace attractor::report {

/// Text in one position: 0 on the line, +1 raised, -1 lowered.
struct Piece {
  std::string_view text;
  int level = 0;
};
std::vector<Piece> pieces(std::string_view markup);

/// The next character of UTF-8 from `at` on, which moves behind it.
char32_t next_character(std::string_view text, std::size_t& at);

/// The text itself for HTML and SVG: & < > " ' are escaped.
std::string html_text(std::string_view text);

/// Escaped, ^{...} and _{...} as elements of HTML.
std::string html_markup(std::string_view markup);

}  // namespace attractor::report
