#include "apps/tool.hpp"

namespace attractor::apps {

// Each is defined in the file of its name.
Tool command_tool(const lab::Command& command);
Tool completion_tool();
Tool film_tool();
Tool manual_tool();
Tool merge_tool();
Tool problem_tool();
Tool reproduce_tool();
Tool sweep_tool();

const std::vector<Tool>& tools() {
  static const std::vector<Tool> all = [] {
    std::vector<Tool> list;
    for (const lab::Command& command : lab::commands()) list.push_back(command_tool(command));
    for (const auto tool : {film_tool, sweep_tool, merge_tool, problem_tool, reproduce_tool,
                            completion_tool, manual_tool})
      list.push_back(tool());
    return list;
  }();
  return all;
}

void add_threads(RunOptions& o, lab::ParameterList& l) {
  l.add("threads", o.threads, "threads, 0: all cores; never changes a result").within(0, 4096);
}

void add_json(RunOptions& o, lab::ParameterList& l) {
  l.add("json", o.json, "print one JSON value, nothing else");
}

void add_quiet(RunOptions& o, lab::ParameterList& l) { l.add("quiet", o.quiet, "no progress bar"); }

void set_all(const lab::ParameterList& list, const lab::Settings& given) {
  for (const auto& [name, text] : given) find(list, name).set(text);
}

}  // namespace attractor::apps
