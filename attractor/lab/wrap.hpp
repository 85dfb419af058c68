// Text in lines of a width. Letters count, whatever their bytes in UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace attractor::lab {

/// Columns that a text of one line takes.
std::size_t columns(std::string_view text);

/// At most so many columns of it, with an ellipsis where something is left out.
std::string shortened(const std::string& text, std::size_t width);

/// Words in lines of at most `width` columns, each line behind the first indented; a word that is
/// longer has a line of its own. width 0: one line.
std::string wrapped(const std::string& text, std::size_t indent, std::size_t width);

}  // namespace attractor::lab
