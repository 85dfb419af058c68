// A subcommand as the command line sees it: a list of parameters, flags and positionals alike, and
// what happens when they are set. Parsing, help and all that is to come of it (completion, a manual
// page) need no more.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "attractor/commands/registry.hpp"

namespace attractor::apps {

class ToolCall {
 public:
  virtual ~ToolCall() = default;
  /// Bound to this call.
  virtual lab::ParameterList parameters() = 0;
  /// given: in the order of the command line. Returns the exit status.
  virtual int run(const lab::Settings& given) = 0;
};

struct Tool {
  std::string name;      // "flow", "reduce pair"
  std::string about;     // one line
  std::string examples;  // the end of the help
  std::function<std::unique_ptr<ToolCall>()> make;
  bool on_ranks = false;  // several processes share the work
};

/// All, in the order of the help.
const std::vector<Tool>& tools();

// ---- Options that tools share; they change no result.

struct RunOptions {
  std::uint64_t threads = 0;
  bool json = false, quiet = false;
};
void add_threads(RunOptions& options, lab::ParameterList& list);
void add_json(RunOptions& options, lab::ParameterList& list);
void add_quiet(RunOptions& options, lab::ParameterList& list);

/// Sets what was given.
void set_all(const lab::ParameterList& list, const lab::Settings& given);

template <class Options>
int run_tool(const Options& options) {
  return run(options);
}

/// A tool whose options have add(Options&, ParameterList&) and run(const Options&).
template <class Options>
class OptionsCall final : public ToolCall {
 public:
  lab::ParameterList parameters() override {
    lab::ParameterList list;
    add(options_, list);
    return list;
  }
  int run(const lab::Settings& given) override {
    set_all(parameters(), given);
    return run_tool(options_);
  }

 private:
  Options options_{};
};

}  // namespace attractor::apps
