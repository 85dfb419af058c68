#include "apps/completion.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "apps/parameter_words.hpp"
#include "attractor/lab/wrap.hpp"

namespace attractor::apps {
namespace {

using lab::Parameter;
using lab::ParameterList;
using lab::shortened;

constexpr std::size_t kDescription = 70;  // columns

struct Listed {
  const Tool& tool;
  std::unique_ptr<ToolCall> usual;  // holds what the parameters are bound to
  ParameterList parameters;
};

std::vector<Listed> listed(const std::vector<Tool>& tools) {
  std::vector<Listed> all;
  for (const Tool& tool : tools) {
    std::unique_ptr<ToolCall> usual = tool.make();
    ParameterList parameters = usual->parameters();
    all.push_back({tool, std::move(usual), std::move(parameters)});
  }
  return all;
}

/// "reduce" has "equiangular pair clusters"; other first words have nothing.
std::vector<std::pair<std::string, std::vector<std::string>>> first_words(
    const std::vector<Tool>& tools) {
  std::vector<std::pair<std::string, std::vector<std::string>>> words;
  for (const Tool& tool : tools) {
    const std::size_t space = tool.name.find(' ');
    const std::string first = tool.name.substr(0, space);
    if (words.empty() || words.back().first != first) words.push_back({first, {}});
    if (space != tool.name.npos) words.back().second.push_back(tool.name.substr(space + 1));
  }
  return words;
}

std::string joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

std::string with_escapes(std::string_view text, std::string_view special) {
  std::string escaped;
  for (const char c : text) {
    if (special.find(c) != special.npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

/// Inside single quotes.
std::string quotable(std::string_view text) {
  std::string quoted;
  for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted;
}

// ---- bash

constexpr std::string_view kBash =
    R"(# Completion of attractor for bash, written by: attractor completion bash
_attractor() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} tool=${{COMP_WORDS[1]}}
  local flags= words= offer= value=
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W '{first} help --help --version' -- "$cur"))
    return
  fi
  # --name=value comes as three words.
  if [[ $cur == = ]]; then cur=; elif [[ $prev == = ]]; then prev=${{COMP_WORDS[COMP_CWORD-2]}}; fi
  case $tool in
{families}    help)
      COMPREPLY=($(compgen -W '{first}' -- "$cur"))
      return ;;
  esac
  case $tool in
{tools}  esac
  if [[ -z $value && $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$flags --help --help-all" -- "$cur"))
    return
  fi
  [[ -n $words ]] && COMPREPLY=($(compgen -W "$words" -- "$cur"))
  [[ -z $offer ]] && return
  compopt -o filenames 2>/dev/null
  local IFS=$'\n'
  COMPREPLY+=($(compgen "$offer" -- "$cur"))
}}
complete -F _attractor attractor
)";

std::string bash_offer(const Parameter& p) {
  const Offer offer = offer_of(p);
  return offer == Offer::files ? " offer=-f" : offer == Offer::directories ? " offer=-d" : "";
}

std::string bash_words(const Parameter& p) {
  const std::vector<std::string> words = offered_words(p);
  return words.empty() ? "" : fmt::format(" words='{}'", joined(words));
}

std::string bash_tool(const Listed& l) {
  std::vector<std::string> flags;
  std::string cases, place;
  for (const Parameter& p : l.parameters) {
    if (p.positional) {
      if (place.empty()) place = bash_words(p) + bash_offer(p);
      continue;
    }
    flags.push_back("--" + p.name);
    if (!p.is_flag())
      cases +=
          fmt::format("        --{}) value=yes{}{} ;;\n", p.name, bash_words(p), bash_offer(p));
  }
  return fmt::format(
      "    '{}')\n      flags='{}'\n      case $prev in\n{}        *){} ;;\n      esac ;;\n",
      l.tool.name, joined(flags), cases, place.empty() ? " :" : place);
}

std::string bash(const std::vector<Tool>& tools) {
  std::vector<std::string> first;
  std::string families, cases;
  for (const auto& [word, seconds] : first_words(tools)) {
    first.push_back(word);
    if (!seconds.empty())
      families += fmt::format(
          "    {0})\n      if ((COMP_CWORD == 2)); then\n        COMPREPLY=($(compgen -W '{1} "
          "--help' -- \"$cur\"))\n        return\n      fi\n      tool=\"{0} ${{COMP_WORDS[2]}}\" "
          ";;\n",
          word, joined(seconds));
  }
  for (const Listed& l : listed(tools)) cases += bash_tool(l);
  return fmt::format(fmt::runtime(kBash), fmt::arg("first", joined(first)),
                     fmt::arg("families", families), fmt::arg("tools", cases));
}

// ---- zsh

constexpr std::string_view kZsh = R"(#compdef attractor
# Completion of attractor for zsh, written by: attractor completion zsh
_attractor() {{
  local tool
  if (( CURRENT == 2 )); then
    local -a commands=(
{commands}    )
    _describe -t commands command commands
    return
  fi
  tool=$words[2]
  shift words
  (( CURRENT-- ))
  case $tool in
{families}  esac
  case $tool in
{tools}  esac
}}
if [[ $funcstack[1] == _attractor ]]; then _attractor "$@"; else compdef _attractor attractor; fi
)";

/// In a specification of _arguments: brackets and colons have a meaning there.
std::string zsh_text(const std::string& help) {
  return quotable(with_escapes(shortened(help, kDescription), "[]:\\"));
}

std::string zsh_action(const Parameter& p) {
  const std::vector<std::string> words = offered_words(p);
  const Offer offer = offer_of(p);
  if (!words.empty() && offer == Offer::files)
    return fmt::format("{{compadd {}; _files}}", joined(words));
  if (!words.empty()) return fmt::format("({})", joined(words));
  return offer == Offer::files ? "_files" : offer == Offer::directories ? "_files -/" : " ";
}

std::string zsh_tool(const Listed& l) {
  std::string lines;
  for (const Parameter& p : l.parameters) {
    lines += p.positional  ? fmt::format(" \\\n        '{}:{}:{}'", p.many() ? "*" : "", p.name,
                                         zsh_action(p))
             : p.is_flag() ? fmt::format(" \\\n        '--{}[{}]'", p.name, zsh_text(p.help))
                           : fmt::format(" \\\n        '--{}=[{}]:{}:{}'", p.name, zsh_text(p.help),
                                         value_name(p), zsh_action(p));
  }
  return fmt::format(
      "    '{}')\n      _arguments{} \\\n        '--help[what most users want]' '--help-all[every "
      "option]' ;;\n",
      l.tool.name, lines);
}

std::string zsh(const std::vector<Tool>& tools) {
  std::string commands, families, cases;
  std::map<std::string, std::string> about;
  for (const Tool& tool : tools) about.emplace(tool.name, tool.about);
  const auto described = [](const std::string& word, const std::string& text) {
    return fmt::format("      '{}:{}'\n", word,
                       quotable(with_escapes(shortened(text, kDescription), ":\\")));
  };
  for (const auto& [word, seconds] : first_words(tools)) {
    commands += described(word, seconds.empty() ? about[word] : joined(seconds));
    if (seconds.empty()) continue;
    families += fmt::format(
        "    {0})\n      if (( CURRENT == 2 )); then\n        compadd {1}\n        return\n      "
        "fi\n      tool=\"{0} $words[2]\"\n      shift words\n      (( CURRENT-- )) ;;\n",
        word, joined(seconds));
  }
  for (const Listed& l : listed(tools)) cases += zsh_tool(l);
  return fmt::format(fmt::runtime(kZsh), fmt::arg("commands", commands),
                     fmt::arg("families", families), fmt::arg("tools", cases));
}

// ---- fish

constexpr std::string_view kFish =
    R"(# Completion of attractor for fish, written by: attractor completion fish
function __attractor_is --description 'the command line begins with these words'
    set -l words (commandline -opc)
    set -l last (math (count $argv) + 1)
    test (count $words) -ge $last; and test "$words[2..$last]" = "$argv"
end
function __attractor_after --description 'and ends with them'
    test (count (commandline -opc)) -eq (math (count $argv) + 1); and __attractor_is $argv
end
complete -c attractor -f
)";

std::string fish_words(const Parameter& p) {
  const std::vector<std::string> words = offered_words(p);
  std::string text = words.empty() ? "" : fmt::format(" -a '{}'", quotable(joined(words)));
  const Offer offer = offer_of(p);
  if (offer == Offer::files) return text + " -F";
  if (offer == Offer::directories) return " -f -a '(__fish_complete_directories)'";
  return text + " -f";
}

std::string fish(const std::vector<Tool>& tools) {
  std::string text(kFish);
  const auto described = [](const std::string& help) {
    return fmt::format(" -d '{}'", with_escapes(shortened(help, kDescription), "'\\"));
  };
  const auto top = [&](const std::string& word, const std::string& about) {
    text +=
        fmt::format("complete -c attractor -n 'test (count (commandline -opc)) -eq 1' -a {}{}\n",
                    word, described(about));
  };
  for (const auto& [word, seconds] : first_words(tools))
    if (!seconds.empty()) top(word, joined(seconds));
  for (const Listed& l : listed(tools)) {
    const std::size_t space = l.tool.name.find(' ');
    if (space == l.tool.name.npos)
      top(l.tool.name, l.tool.about);
    else
      text += fmt::format("complete -c attractor -n '__attractor_after {}' -a {}{}\n",
                          l.tool.name.substr(0, space), l.tool.name.substr(space + 1),
                          described(l.tool.about));
    const std::string when =
        fmt::format("complete -c attractor -n '__attractor_is {}'", l.tool.name);
    for (const Parameter& p : l.parameters)
      if (p.positional)
        text += fmt::format("{}{}{}\n", when, fish_words(p), described(p.help));
      else
        text += fmt::format("{} -l {}{}{}{}\n", when, p.name, p.is_flag() ? "" : " -r",
                            p.is_flag() ? "" : fish_words(p), described(p.help));
    text += fmt::format(
        "{0} -l help -d 'what most users want'\n{0} -l help-all -d 'every option'\n", when);
  }
  return text;
}

}  // namespace

std::string completion(Shell shell, const std::vector<Tool>& tools) {
  return shell == Shell::bash ? bash(tools) : shell == Shell::zsh ? zsh(tools) : fish(tools);
}

}  // namespace attractor::apps
