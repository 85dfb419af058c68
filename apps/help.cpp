#include "apps/help.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace attractor::apps {
namespace {

using lab::Parameter;

/// Words in lines of at most `width`, each line behind the first indented.
std::string wrapped(const std::string& text, std::size_t indent, std::size_t width) {
  std::string lines;
  std::size_t column = indent;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    if (column > indent && column + 1 + word.size() > width) {
      lines += "\n" + std::string(indent, ' ');
      column = indent;
    }
    lines += (column > indent ? " " : "") + word;
    column += (column > indent ? 1 : 0) + word.size();
    begin = end + 1;
  }
  return lines;
}

/// A name with its meaning beside it, or below if the name is long.
std::string entry(const std::string& name, const std::string& meaning, std::size_t indent,
                  std::size_t width) {
  const std::string left = "  " + name;
  const std::string gap = left.size() + 2 > indent ? "\n" + std::string(indent, ' ')
                                                   : std::string(indent - left.size(), ' ');
  return left + gap + wrapped(meaning, indent, width) + "\n";
}

std::string meaning(const Parameter& p) {
  if (p.is_flag()) return p.help;
  const std::string usual = p.text();
  return fmt::format("{} [{}]{}", p.help, p.allowed(), usual.empty() ? "" : " default " + usual);
}

}  // namespace

std::string program_help(const std::vector<Tool>& tools, std::size_t width) {
  std::string text =
      "Attractor: a laboratory for the dynamics of attention.\n\n"
      "Usage: attractor COMMAND [OPTIONS]\n\nCommands:\n";
  for (const Tool& tool : tools) text += entry(tool.name, tool.about, 20, width);
  return text +
         "\nExamples:\n"
         "  attractor flow --tokens 64 --dim 3 --beta 40 --time inf --out collapse\n"
         "  attractor select data.json --optimizer flow --log10-time 100\n\n" +
         wrapped(
             "attractor COMMAND --help says what a command takes. Exit status: 0 done, 2 bad "
             "input, "
             "3 the numerics could not deliver, 130 interrupted.",
             0, width) +
         "\n";
}

std::string family_help(const std::string& family, const std::vector<Tool>& tools,
                        std::size_t width) {
  std::string list, examples;
  for (const Tool& tool : tools) {
    if (!tool.name.starts_with(family + " ")) continue;
    list += entry(tool.name.substr(family.size() + 1), tool.about, 20, width);
    examples += tool.examples.substr(0, tool.examples.find('\n') + 1);
  }
  if (list.empty()) return "";
  return fmt::format("Usage: attractor {} COMMAND [OPTIONS]\n\nCommands:\n{}\nExamples:\n{}",
                     family, list, examples);
}

std::string tool_help(const Tool& tool, std::size_t width) {
  const std::unique_ptr<ToolCall> usual = tool.make();
  const lab::ParameterList parameters = usual->parameters();
  std::string usage = "Usage: attractor " + tool.name, places, groups;
  std::vector<std::string> headings;
  for (const Parameter& p : parameters) {
    if (p.positional) {
      usage += fmt::format(" [{}{}]", p.name, p.many() ? "..." : "");
      places += entry(p.name, meaning(p), 28, width);
    } else if (std::find(headings.begin(), headings.end(), p.group) == headings.end()) {
      headings.push_back(p.group);
    }
  }
  for (const std::string& heading : headings) {
    groups += "\n" + heading + ":\n";
    for (const Parameter& p : parameters)
      if (p.group == heading && !p.positional)
        groups += entry("--" + p.name, meaning(p), 28, width);
  }
  groups += entry("--help", "this text", 28, width);
  return tool.about + "\n" + usage + " [OPTIONS]\n" + (places.empty() ? "" : "\n" + places) +
         groups + "\nExamples:\n" + tool.examples + "\n";
}

}  // namespace attractor::apps
