#include "papers/entry_text.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
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

std::string with_powers_of_ten(const std::string& text) {
  static const std::regex number(R"((\d+(?:\.\d+)?)e([+-]\d+))");
  return replaced(text, number, [](const std::smatch& m) -> std::string {
    const int power = std::atoi(m[2].str().c_str());
    if (std::atof(m[1].str().c_str()) == 0) return "0";
    if (power == 0) return m[1].str();
    return fmt::format("{}·10^{{{}{}}}", m[1].str(), power < 0 ? "−" : "", std::abs(power));
  });
}

std::string without_markup(const std::string& text) {
  static const std::regex raised(R"(([\^_])\{([^{}]*)\})"), plain(R"(\w+)");
  return replaced(text, raised, [](const std::smatch& m) {
    const std::string inside = m[2].str();
    return m[1].str() + (std::regex_match(inside, plain) ? inside : "(" + inside + ")");
  });
}

}  // namespace attractor::papers
