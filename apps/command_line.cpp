#include "apps/command_line.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <numeric>
#include <set>

#include "apps/help.hpp"
#include "attractor/base/error.hpp"
#include "attractor/base/version.hpp"

namespace attractor::apps {
namespace {

using lab::Parameter;
using lab::ParameterList;

/// Letters to insert, delete or exchange, and neighbours to swap.
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> before, last, row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] =
          std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row.back();
}

/// " (did you mean X?)" if one of them is close.
std::string meant(const std::string& word, const std::vector<std::string>& names) {
  const auto near = std::min_element(names.begin(), names.end(), [&](const auto& a, const auto& b) {
    return distance(word, a) < distance(word, b);
  });
  if (near == names.end() || distance(word, *near) > std::max<std::size_t>(1, word.size() / 3))
    return "";
  return fmt::format(" (did you mean {}?)", *near);
}

/// "flow", or "reduce pair" of two words; takes them off.
const Tool& find_tool(std::span<const std::string>& words, const std::vector<Tool>& tools) {
  std::vector<std::string> names, family;
  for (const Tool& tool : tools) {
    const std::string first = tool.name.substr(0, tool.name.find(' '));
    if (names.empty() || names.back() != first) names.push_back(first);
    if (first != tool.name && !words.empty() && first == words[0])
      family.push_back(tool.name.substr(first.size() + 1));
  }
  if (words.empty())
    throw Error(
        fmt::format("a command is missing; commands: {}; see --help", fmt::join(names, ", ")));
  const auto named = [&](const std::string& name) -> const Tool* {
    const auto at =
        std::find_if(tools.begin(), tools.end(), [&](const Tool& t) { return t.name == name; });
    return at == tools.end() ? nullptr : &*at;
  };
  const std::size_t used = family.empty() ? 1 : 2;
  if (used == 2 && (words.size() < 2 || words[1].starts_with("-")))
    throw Error(fmt::format("{0} needs one of: {1}; see attractor {0} --help", words[0],
                            fmt::join(family, ", ")));
  if (words[0].starts_with("-"))
    throw Error(fmt::format("{} is no option of attractor; see attractor --help", words[0]));
  const Tool* tool = named(used == 1 ? words[0] : words[0] + " " + words[1]);
  if (tool == nullptr && used == 2)
    throw Error(fmt::format("'{}' is no reduction{}; allowed: {}", words[1],
                            meant(words[1], family), fmt::join(family, ", ")));
  if (tool == nullptr)
    throw Error(fmt::format("'{}' is no command{}; commands: {}; see --help", words[0],
                            meant(words[0], names), fmt::join(names, ", ")));
  words = words.subspan(used);
  return *tool;
}

/// "--beta", or "-beta" by mistake; not "-3" and not "-".
bool looks_like_flag(const std::string& word) {
  return word.size() > 1 && word[0] == '-' &&
         (word[1] == '-' || std::isalpha(static_cast<unsigned char>(word[1])) != 0);
}

/// The words behind a tool, one after the other.
class Reader {
 public:
  Reader(const Tool& tool, const ParameterList& parameters) : tool_(tool), list_(parameters) {}

  lab::Settings read(std::span<const std::string> words) {
    bool only_positional = false;
    for (std::size_t k = 0; k < words.size(); ++k) {
      if (only_positional || !looks_like_flag(words[k])) {
        take_positional(words[k]);
      } else if (words[k] == "--") {
        only_positional = true;
      } else {
        k += take_flag(words[k], words.subspan(k + 1));
      }
    }
    return std::move(given_);
  }

 private:
  void take(const Parameter& p, const std::string& text) {
    if (!seen_.insert(p.name).second && !p.many())
      throw Error(fmt::format("{}{} is given more than once; see --help", p.positional ? "" : "--",
                              p.name));
    given_.emplace_back(p.name, text);
  }

  void take_positional(const std::string& word) {
    for (const Parameter& p : list_)
      if (p.positional && (p.many() || seen_.count(p.name) == 0)) return take(p, word);
    throw Error(fmt::format("'{}' was not expected; see attractor {} --help", word, tool_.name));
  }

  /// How many words behind it belong to it.
  std::size_t take_flag(const std::string& word, std::span<const std::string> rest) {
    const std::size_t equals = word.find('=');
    if (!word.starts_with("--")) refuse_flag(word.substr(0, equals));
    const std::string name = word.substr(2, equals == word.npos ? equals : equals - 2);
    const auto at = std::find_if(list_.begin(), list_.end(), [&](const Parameter& p) {
      return p.name == name && !p.positional;
    });
    if (at == list_.end()) refuse_flag(word.substr(0, equals));
    if (equals != word.npos) return take(*at, word.substr(equals + 1)), 0;
    if (at->is_flag()) return take(*at, "true"), 0;
    if (rest.empty()) throw Error(fmt::format("--{} needs a value; see --help", name));
    if (rest[0].starts_with("--"))
      throw Error(fmt::format("--{} needs a value, but {} follows", name, rest[0]));
    return take(*at, rest[0]), 1;
  }

  [[noreturn]] void refuse_flag(const std::string& word) const {
    std::vector<std::string> names;
    for (const Parameter& p : list_)
      if (!p.positional) names.push_back("--" + p.name);
    throw Error(fmt::format("{} is no option of attractor {}{}; see attractor {} --help", word,
                            tool_.name, meant(word, names), tool_.name));
  }

  const Tool& tool_;
  const ParameterList& list_;
  lab::Settings given_;
  std::set<std::string> seen_;
};

bool asks_all(const std::string& word) { return word == "--help-all"; }
bool asks_help(const std::string& word) {
  return word == "-h" || word == "--help" || asks_all(word);
}

}  // namespace

CommandLine parse(std::span<const std::string> words, const std::vector<Tool>& tools,
                  std::size_t width) {
  if (!words.empty() && (words[0] == "--version" || words[0] == "-V"))
    return {.print = fmt::format("attractor {}\n", kVersion)};
  std::vector<std::string> turned;  // "help flow" is "flow --help"
  if (!words.empty() && words[0] == "help") {
    turned.assign(words.begin() + 1, words.end());
    turned.emplace_back("--help");
    words = turned;
  }
  const bool help = std::any_of(words.begin(), words.end(), asks_help);
  if (help && asks_help(words[0])) return {.print = program_help(tools, width)};
  if (help && words.size() == 2 && asks_help(words[1]))
    if (const std::string text = family_help(words[0], tools, width); !text.empty())
      return {.print = text};
  const Tool& tool = find_tool(words, tools);
  if (help) {
    const bool all = std::any_of(words.begin(), words.end(), asks_all);
    return {.print = all ? long_help(tool, width) : short_help(tool, width)};
  }
  const std::unique_ptr<ToolCall> usual = tool.make();
  const ParameterList parameters = usual->parameters();
  return {.tool = &tool, .given = Reader(tool, parameters).read(words)};
}

}  // namespace attractor::apps
