#include "apps/help.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "apps/parameter_words.hpp"
#include "attractor/lab/wrap.hpp"

namespace attractor::apps {
namespace {

using lab::Parameter;
using lab::ParameterList;
using lab::wrapped;

constexpr std::size_t kDeepest = 28;  // columns for names

/// A name with its meaning beside it, or below if the name is long.
std::string entry(const std::string& name, const std::string& meaning, std::size_t indent,
                  std::size_t width) {
  const std::string left = "  " + name;
  const std::string gap = left.size() + 2 > indent ? "\n" + std::string(indent, ' ')
                                                   : std::string(indent - left.size(), ' ');
  return left + gap + wrapped(meaning, indent, width) + "\n";
}

std::string first_line(const Tool& tool, const ParameterList& parameters) {
  std::string usage = "Usage: attractor " + tool.name;
  for (const Parameter& p : parameters)
    if (p.positional) usage += fmt::format(" [{}{}]", p.name, p.many() ? "..." : "");
  return usage + " [OPTIONS]";
}

/// Examples are commands, two spaces deep, and sentences below them.
std::string examples(const Tool& tool, std::size_t width) {
  std::string text = "\nExamples:\n";
  for (std::size_t begin = 0; begin < tool.examples.size();) {
    const std::size_t end = std::min(tool.examples.find('\n', begin), tool.examples.size());
    const std::string line = tool.examples.substr(begin, end - begin);
    text += (line.starts_with(' ') ? line : wrapped(line, 0, width)) + "\n";
    begin = end + 1;
  }
  return text;
}

struct Layout {
  bool all;
  std::size_t indent, width;
};

bool shown(const Parameter& p, const Layout& layout) { return layout.all || p.common; }

std::string options(const ParameterList& parameters, const Layout& layout) {
  std::string text, places;
  const auto line = [&](const Parameter& p) {
    return entry(spelling(p), layout.all ? long_meaning(p) : short_meaning(p), layout.indent,
                 layout.width);
  };
  for (const Parameter& p : parameters)
    if (p.positional) places += line(p);
  for (const std::string& heading : headings(parameters)) {
    std::string lines;
    for (const Parameter& p : parameters)
      if (p.group == heading && !p.positional && shown(p, layout)) lines += line(p);
    if (!lines.empty()) text += "\n" + heading + ":\n" + lines;
  }
  return (places.empty() ? "" : "\n" + places) + text;
}

/// As wide as the names need, so that short help is short.
std::size_t indent_of(const ParameterList& parameters) {
  std::size_t longest = 0;
  for (const Parameter& p : parameters)
    if (p.common) longest = std::max(longest, spelling(p).size());
  return std::min(kDeepest, longest + 4);
}

}  // namespace

std::string program_help(const std::vector<Tool>& tools, std::size_t width) {
  std::string text =
      "Attractor: a laboratory for the dynamics of attention.\n\n"
      "Usage: attractor COMMAND [OPTIONS]\n\nCommands:\n";
  for (const Tool& tool : tools) text += entry(tool.name, tool.about, 22, width);
  return text +
         "\nExamples:\n"
         "  attractor flow --tokens 64 --dim 3 --beta 40 --time inf --out collapse\n"
         "  attractor select example:single-local --optimizer flow --log10-time 100\n\n" +
         wrapped(
             "attractor COMMAND --help says what a command takes, --help-all every option of it. "
             "Numbers of things may be written 128k and 1M, as context lengths are: k = 1024, M = "
             "1024^2; powers of ten are 1e3, 1e6. Exit status: 0 done, 2 bad input, 3 the numerics "
             "could not deliver, 130 interrupted.",
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

std::string short_help(const Tool& tool, std::size_t width) {
  const std::unique_ptr<ToolCall> usual = tool.make();
  const ParameterList parameters = usual->parameters();
  const auto common = std::count_if(parameters.begin(), parameters.end(),
                                    [](const Parameter& p) { return p.common; });
  if (static_cast<std::size_t>(common) == parameters.size()) return long_help(tool, width);
  const std::string more = fmt::format(
      "All {} options, and what they allow: attractor {} --help-all", parameters.size(), tool.name);
  return wrapped(tool.about, 0, width) + "\n" + first_line(tool, parameters) + "\n" +
         options(parameters, {false, indent_of(parameters), width}) + examples(tool, width) + "\n" +
         wrapped(more, 0, width) + "\n";
}

std::string long_help(const Tool& tool, std::size_t width) {
  const std::unique_ptr<ToolCall> usual = tool.make();
  const ParameterList parameters = usual->parameters();
  return wrapped(tool.about, 0, width) + "\n" + first_line(tool, parameters) + "\n" +
         options(parameters, {true, kDeepest, width}) +
         entry("--help, --help-all", "what most users want, or this text", kDeepest, width) +
         examples(tool, width);
}

}  // namespace attractor::apps
