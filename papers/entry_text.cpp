#include "papers/entry_text.hpp"

#include <regex>

namespace attractor::papers {
namespace {

/// Each match replaced by what `change` makes of it.
template <class Change>
std::string replaced(const std::string& text, const std::regex& pattern, const Change& change) {
  std::string result;
  auto from = text.begin();
  for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at) {
    result.append(from, (*at)[0].first);
    result += change(*at);
    from = (*at)[0].second;
  }
  return result.append(from, text.end());
}

}  // namespace

std::string without_markup(const std::string& text) {
  static const std::regex raised(R"(([\^_])\{([^{}]*)\})"), plain(R"(\w+)");
  return replaced(text, raised, [](const std::smatch& m) {
    const std::string inside = m[2].str();
    return m[1].str() + (std::regex_match(inside, plain) ? inside : "(" + inside + ")");
  });
}

}  // namespace attractor::papers
