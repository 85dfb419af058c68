#include "attractor/files/toml_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "attractor/base/error.hpp"

namespace attractor::lab {
namespace {

/// The end of the quoted text that begins at `at`. One that is not closed ends with its line, or
/// with everything: the parser goes no further either.
std::size_t behind_quotes(std::string_view text, std::size_t at) {
  const char quote = text[at];
  const std::string_view three = quote == '"' ? "\"\"\"" : "'''";
  const bool long_text = text.substr(at, 3) == three;
  for (at += long_text ? 3 : 1; at < text.size(); ++at) {
    if (text[at] == '\\' && quote == '"')
      ++at;
    else if (long_text ? text.substr(at, 3) == three : text[at] == quote || text[at] == '\n')
      return at + (long_text ? 3 : 1);
  }
  return text.size();
}

void require_shallow(std::string_view text, const std::string& name) {
  std::size_t open = 0, parts = 1;
  const auto refuse = [&](std::size_t at, std::string_view what) {
    throw Error(fmt::format("{}, line {}: {}; allowed: at most {}", name,
                            1 + std::count(text.begin(), text.begin() + std::ptrdiff_t(at), '\n'),
                            what, kTomlDepth));
  };
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '"' || c == '\'') {
      at = behind_quotes(text, at);
      continue;
    }
    if (c == '#') {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    if (c == '.' && ++parts > kTomlDepth) refuse(at, "a key has more than 32 parts");
    if ((c == '[' || c == '{') && ++open > kTomlDepth)
      refuse(at, "lists and tables are nested deeper than 32 levels");
    if ((c == ']' || c == '}') && open > 0) --open;
    if (std::string_view("=,\n[]{}").find(c) != std::string_view::npos) parts = 1;
    ++at;
  }
}

}  // namespace

toml::table parse_toml(std::string_view text, const std::string& name) {
  require_shallow(text, name);
  try {
    return toml::parse(text, name);
  } catch (const toml::parse_error& error) {
    throw Error(
        fmt::format("{}, line {}: {}", name, error.source().begin.line, error.description()));
  }
}

}  // namespace attractor::lab
