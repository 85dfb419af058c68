// A command as data: what it is called, its parameters, and how one call of it is made and run.
//
//   words -> Command::make() -> Request: parameters set by name -> prepare() -> run(context) ->
//   Result
//
// Nothing here reads or writes a file: who has words loads what they name (files/load_inputs.hpp)
// before prepare(), who has arrays puts them in.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "attractor/commands/result.hpp"
#include "attractor/lab/context.hpp"
#include "attractor/observe/observables.hpp"

namespace attractor::lab {

/// One call of a command.
class Request {
 public:
  virtual ~Request() = default;
  /// Bound to this request.
  virtual ParameterList parameters() = 0;
  /// All ranks work on this one together, from prepare() on; only where Command::on_ranks says so.
  virtual void share() {}
  /// Before prepare(): measures this as well. Throws Error where nothing is measured on the way.
  virtual void observe(observe::Observable own);
  /// All that can be refused before work begins is refused here, and what the check made is what
  /// runs. given: the parameters that were set. Throws Error.
  virtual void prepare(const std::vector<std::string>& /*given*/) {}
  /// What the result will take on disk, at most.
  virtual double bytes() const { return 0; }
  /// What was finished before a stop or a crash is taken from the context's checkpoint and need not
  /// be done again (lab/pieces.hpp); `interrupted` of the result says that it was stopped.
  virtual Result run(const Context& context) = 0;
};

/// Result::interrupted where nothing better can be said.
inline constexpr const char* kBeforeItsEnd = "before its end";

struct Command {
  std::string name;      // "flow", "reduce pair"
  std::string about;     // one line
  std::string examples;  // the end of --help
  std::function<std::unique_ptr<Request>()> make;
  bool on_ranks = false;  // several processes share one run of it
};

/// Holds the values against their list, refuses what was given and has no effect, and prepares.
void prepare(Request& request, const std::vector<std::string>& given);

/// What the parameters were set to, as a run directory and a page repeat it.
Call call_of(const Command& command, Request& now, Request& usual);

/// A command whose parameters have list(Setup&) and ask(const Setup&, const Context&).
template <class Setup>
class AskRequest final : public Request {
 public:
  ParameterList parameters() override { return list(setup_); }
  Result run(const Context& context) override {
    Result answer = ask(setup_, context);
    if (context.stopped() && answer.interrupted.empty()) answer.interrupted = kBeforeItsEnd;
    return answer;
  }

 private:
  Setup setup_{};
};

template <class Setup>
std::unique_ptr<Request> ask_request() {
  return std::make_unique<AskRequest<Setup>>();
}

/// With these settings; throws Error on a name or a value that is not allowed.
std::unique_ptr<Request> request_of(const Command& command, const Settings& settings);

}  // namespace attractor::lab
