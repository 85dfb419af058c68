// The registry: every command that computes, once. Command line, help, sweeps and whoever comes
// next (Python, a browser) read it; none of them knows a command by name.
//
//   words -> Command::make() -> Request: parameters set by name -> prepare() -> run(context) ->
//   Result
//
// A new command is its file (parameters, list(), ask(), its Command) and its line in commands.cpp.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "attractor/commands/result.hpp"
#include "attractor/lab/context.hpp"

namespace attractor::lab {

/// One call of a command.
class Request {
 public:
  virtual ~Request() = default;
  /// Bound to this request.
  virtual ParameterList parameters() = 0;
  /// The input files that the parameters name, as they name them.
  virtual std::vector<std::string> files() { return {}; }
  /// All ranks work on this one together, from prepare() on; only where Command::on_ranks says so.
  virtual void share() {}
  /// All that can be refused before work begins is refused here, and what the check made is what
  /// runs. given: the parameters that were set, whose having no effect is refused; `files_from` as
  /// in Context. Throws Error.
  virtual void prepare(const std::vector<std::string>& /*given*/,
                       const std::string& /*files_from*/) {}
  /// What the result will take on disk, at most.
  virtual double bytes() const { return 0; }
  virtual Result run(const Context& context) = 0;
};

struct Command {
  std::string name;      // "flow", "reduce pair"
  std::string about;     // one line
  std::string examples;  // the end of --help
  std::function<std::unique_ptr<Request>()> make;
  bool resumes = false;   // keeps checkpoints, so that it can go on where it was stopped
  bool on_ranks = false;  // several processes share one run of it
};

/// All, in the order of --help.
const std::vector<Command>& commands();
/// Throws Error naming all commands if there is none of this name.
const Command& command_named(const std::string& name);

/// What the parameters were set to, as a run directory and a page repeat it.
Call call_of(const Command& command, Request& now, Request& usual);

/// A command whose parameters have list(Parameters&) and ask(const Parameters&, const Context&).
template <class Parameters>
class AskRequest final : public Request {
 public:
  ParameterList parameters() override { return list(parameters_); }
  std::vector<std::string> files() override {
    if constexpr (requires { input_files(parameters_); })
      return input_files(parameters_);
    else
      return {};
  }
  Result run(const Context& context) override { return ask(parameters_, context); }

 private:
  Parameters parameters_{};
};

template <class Parameters>
std::unique_ptr<Request> ask_request() {
  return std::make_unique<AskRequest<Parameters>>();
}

// ---- By words alone, for studies that call commands many times (study.hpp).

using Settings = std::vector<std::pair<std::string, std::string>>;  // name of a parameter, its text

struct Outcome {
  Json summary;              // as --json, wall_seconds 0, with the curves
  std::string failure{};     // what the numerics could not deliver; empty: delivered
  bool interrupted = false;  // the context asked to stop: nothing else is meant
};

/// With these settings; throws Error on a name or a value that is not allowed.
std::unique_ptr<Request> request_of(const Command& command, const Settings& settings);
Outcome run_settings(const Command& command, const Settings& settings, const Context& context);

}  // namespace attractor::lab
