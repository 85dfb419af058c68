#include "apps/manual.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "apps/parameter_words.hpp"
#include "attractor/base/version.hpp"

namespace attractor::apps {
namespace {

using lab::Json;
using lab::Parameter;
using lab::ParameterList;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

bool is_command(const std::string& line) { return line.starts_with(' '); }

std::string trimmed(const std::string& line) {
  const std::size_t begin = line.find_first_not_of(' ');
  return begin == line.npos ? "" : line.substr(begin);
}

/// Sentences below the commands.
std::string remarks(const Tool& tool) {
  std::string text;
  for (const std::string& line : lines_of(tool.examples))
    if (!is_command(line)) text += (text.empty() ? "" : " ") + line;
  return text;
}

// ---- roff

/// Text that says in roff what it says here; minus signs stay what can be copied to a shell.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (out.empty() && (c == '.' || c == '\'')) out += "\\&";
    out += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
  }
  return out;
}

std::string man_head(const std::string& page, const std::string& about) {
  std::string title = page;
  std::transform(title.begin(), title.end(), title.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  std::string words = about;
  if (words.size() > 1 && words[0] >= 'A' && words[0] <= 'Z' && words[1] >= 'a' && words[1] <= 'z')
    words[0] = static_cast<char>(words[0] - 'A' + 'a');
  return fmt::format(".TH {} 1 \"\" \"attractor {}\" \"Attractor\"\n.SH NAME\n{} \\- {}\n",
                     roff(title), kVersion, roff(page), roff(words));
}

constexpr std::string_view kExitStatus =
    ".SH EXIT STATUS\n.TP\n0\ndone\n.TP\n2\nbad input; one sentence says which\n.TP\n3\nthe "
    "numerics could "
    "not deliver; the remedy is printed\n.TP\n130\ninterrupted\n";

std::string man_entry(const Parameter& p) {
  return fmt::format(".TP\n\\fB{}\\fR{}\n{}\n", roff(p.positional ? p.name : "--" + p.name),
                     p.is_flag() || p.positional ? "" : " \\fI" + roff(value_name(p)) + "\\fR",
                     roff(long_meaning(p)));
}

// ---- markdown

/// In a cell of a table.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text)
    out += c == '|'    ? "\\|"
           : c == '<'  ? "&lt;"
           : c == '*'  ? "\\*"
           : c == '\\' ? "\\\\"
                       : std::string(1, c);
  return out;
}

std::string markdown_rows(const ParameterList& parameters, const std::string& heading,
                          bool positional) {
  std::string rows;
  for (const Parameter& p : parameters)
    if (p.positional == positional && (positional || p.group == heading)) {
      const std::string usual = p.is_flag() ? "" : p.text();
      rows += fmt::format("| `{}` | {} | {} | {} |\n", positional ? p.name : "--" + p.name,
                          cell(p.help), p.is_flag() ? "" : cell(p.allowed()),
                          usual.empty() ? "" : "`" + usual + "`");
    }
  return rows.empty() ? "" : "| | | allowed | default |\n|---|---|---|---|\n" + rows;
}

}  // namespace

std::string page_name(const std::string& tool) {
  std::string name = tool.empty() ? "attractor" : "attractor-" + tool;
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

std::vector<std::string> example_commands(const Tool& tool) {
  std::vector<std::string> commands;
  for (const std::string& line : lines_of(tool.examples))
    if (is_command(line)) commands.push_back(trimmed(line));
  return commands;
}

std::string man_overview(const std::vector<Tool>& tools) {
  std::string text = man_head("attractor", "a laboratory for the dynamics of attention");
  text +=
      ".SH SYNOPSIS\n.B attractor\n.I COMMAND\n[\\fIOPTIONS\\fR]\n.br\n.B attractor help\n"
      ".I COMMAND\n.SH DESCRIPTION\n"
      "Tokens passing through attention layers are particles on a sphere: they gather in clusters "
      "that live for a very long time, and finally collapse to one. Attention in training selects "
      "tokens by their margin. Attractor computes both. A run with \\fB\\-\\-out\\fR \\fIDIR\\fR "
      "leaves "
      "result.h5, summary.json, figures and a page; \\fB\\-\\-config\\fR \\fIDIR\\fR/run.toml "
      "repeats it. "
      "The same seed gives the same result for any number of threads.\n.PP\n"
      "Numbers of things may be written 128k and 1M, as context lengths are: k is 1024 and M is "
      "1024\\(ha2. Powers of ten are 1e3 and 1e6.\n.SH COMMANDS\n";
  for (const Tool& tool : tools)
    text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(tool.name), roff(tool.about));
  text += kExitStatus;
  text +=
      ".SH EXAMPLES\n.nf\nattractor flow \\-\\-tokens 64 \\-\\-dim 3 \\-\\-beta 40 \\-\\-time inf "
      "\\-\\-out "
      "collapse\nattractor help flow\n.fi\n.SH SEE ALSO\n";
  std::string pages;
  for (const Tool& tool : tools)
    pages += fmt::format("{}\\fB{}\\fR(1)", pages.empty() ? "" : ",\n", roff(page_name(tool.name)));
  return text + pages + "\n";
}

std::string man_page(const Tool& tool) {
  const std::unique_ptr<ToolCall> usual = tool.make();
  const ParameterList parameters = usual->parameters();
  std::string text = man_head(page_name(tool.name), tool.about) +
                     fmt::format(".SH SYNOPSIS\n.B attractor {}\n", roff(tool.name));
  for (const Parameter& p : parameters)
    if (p.positional) text += fmt::format("[\\fI{}\\fR{}]\n", roff(p.name), p.many() ? " ..." : "");
  text += "[\\fIOPTIONS\\fR]\n.SH OPTIONS\n";
  for (const Parameter& p : parameters)
    if (p.positional) text += man_entry(p);
  for (const std::string& heading : headings(parameters)) {
    if (!heading.empty()) text += fmt::format(".SS {}\n", roff(heading));
    for (const Parameter& p : parameters)
      if (!p.positional && p.group == heading) text += man_entry(p);
  }
  text +=
      ".TP\n\\fB\\-\\-help\\fR, \\fB\\-\\-help\\-all\\fR\nwhat most users want, or every option\n";
  text += ".SH EXAMPLES\n.nf\n";
  for (const std::string& command : example_commands(tool)) text += roff(command) + "\n";
  text += ".fi\n";
  if (const std::string more = remarks(tool); !more.empty()) text += ".PP\n" + roff(more) + "\n";
  return text + std::string(kExitStatus) + ".SH SEE ALSO\n\\fBattractor\\fR(1)\n";
}

std::string markdown_page(const Tool& tool) {
  const std::unique_ptr<ToolCall> usual = tool.make();
  const ParameterList parameters = usual->parameters();
  std::string text = fmt::format("# attractor {}\n\n{}.\n\n", tool.name, cell(tool.about));
  for (const std::string& command : example_commands(tool)) text += "    " + command + "\n";
  if (const std::string more = remarks(tool); !more.empty()) text += "\n" + cell(more) + "\n";
  if (const std::string places = markdown_rows(parameters, "", true); !places.empty())
    text += "\n## What it is about\n\n" + places;
  for (const std::string& heading : headings(parameters))
    text += fmt::format("\n## {}\n\n{}", heading.empty() ? "Options" : heading,
                        markdown_rows(parameters, heading, false));
  return text;
}

Json manual_json(const std::vector<Tool>& tools) {
  Json all = Json::array();
  for (const Tool& tool : tools) {
    const std::unique_ptr<ToolCall> usual = tool.make();
    Json parameters = Json::array();
    for (const Parameter& p : usual->parameters()) {
      Json one = Json::object();
      one["name"] = p.name;
      one["group"] = p.group;
      one["help"] = p.help;
      one["allowed"] = p.is_flag() ? "" : p.allowed();
      one["default"] = p.text();
      one["positional"] = p.positional;
      one["takes_value"] = !p.is_flag();
      one["in_short_help"] = p.common;
      parameters.push_back(std::move(one));
    }
    Json one = Json::object();
    one["name"] = tool.name;
    one["about"] = tool.about;
    one["examples"] = example_commands(tool);
    one["remarks"] = remarks(tool);
    one["parameters"] = std::move(parameters);
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace attractor::apps
