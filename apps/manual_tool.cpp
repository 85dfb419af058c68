// `manual`: pages for man(1) and for the site, from the lists of parameters.
#include "apps/manual.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "apps/exit_status.hpp"
#include "apps/tool.hpp"
#include "attractor/base/error.hpp"
#include "attractor/base/file.hpp"

namespace attractor::apps {
namespace {

enum class ManualForm { man, markdown, json };

std::span<const std::string_view> names(ManualForm) {
  static constexpr std::string_view kNames[] = {"man", "markdown", "json"};
  return kNames;
}

struct ManualOptions {
  std::vector<std::string> command{};
  ManualForm form = ManualForm::man;
  std::string out{};
};

void add(ManualOptions& o, lab::ParameterList& l) {
  l.add("command", o.command, "whose page; without one, the page of the program")
      .allow("a command")
      .first();
  l.add("form", o.form, "for man(1), for the site, or all commands with their options as JSON");
  l.add("out", o.out, "write the pages of all commands there").allow("a directory").not_empty();
}

const Tool& tool_named(const std::string& name) {
  const auto at = std::find_if(tools().begin(), tools().end(),
                               [&](const Tool& tool) { return tool.name == name; });
  if (at == tools().end())
    throw Error(fmt::format("'{}' is no command; see attractor --help", name));
  return *at;
}

void write_all(const ManualOptions& options) {
  const std::filesystem::path folder = options.out;
  make_directory(folder);
  const bool man = options.form == ManualForm::man;
  for (const Tool& tool : tools())
    write_file(folder / (page_name(tool.name) + (man ? ".1" : ".md")),
               man ? man_page(tool) : markdown_page(tool));
  if (man) write_file(folder / "attractor.1", man_overview(tools()));
}

int run(const ManualOptions& options) {
  const std::string name = fmt::format("{}", fmt::join(options.command, " "));
  if (!options.out.empty()) {
    if (!name.empty() || options.form == ManualForm::json)
      throw Error("out takes all pages, as man or markdown; leave the command or form json out");
    write_all(options);
    return kOk;
  }
  if (options.form == ManualForm::json) {
    if (!name.empty()) throw Error("form json is of all commands; leave the command out");
    fmt::print("{}\n", manual_json(tools()).dump(2));
  } else if (name.empty()) {
    if (options.form == ManualForm::markdown)
      throw Error("the name of a command is missing: attractor manual flow --form markdown");
    fmt::print("{}", man_overview(tools()));
  } else {
    const Tool& tool = tool_named(name);
    fmt::print("{}", options.form == ManualForm::man ? man_page(tool) : markdown_page(tool));
  }
  return kOk;
}

}  // namespace

Tool manual_tool() {
  return {.name = "manual",
          .about = "Print the manual page of attractor or of a command",
          .examples =
              "  attractor manual flow > attractor-flow.1\n"
              "  attractor manual reduce pair --form markdown\n"
              "  attractor manual --out pages",
          .make = [] { return std::make_unique<OptionsCall<ManualOptions>>(); }};
}

}  // namespace attractor::apps
