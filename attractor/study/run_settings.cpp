#include "attractor/study/run_settings.hpp"

#include "attractor/files/load_inputs.hpp"

namespace attractor::lab {

Outcome run_settings(const Command& command, const Settings& settings,
                     const std::string& files_from, const Context& context) {
  const std::unique_ptr<Request> now = request_of(command, settings), usual = command.make();
  std::vector<std::string> given;
  for (const auto& [name, text] : settings) given.push_back(name);
  load_inputs(now->parameters(), files_from);
  prepare(*now, given);
  const Result answer = now->run(context);
  if (context.stopped() || !answer.interrupted.empty()) return {.summary = {}, .interrupted = true};
  Outcome outcome{summary(answer, call_of(command, *now, *usual), 0), answer.not_delivered};
  if (answer.curves) outcome.summary["series"] = answer.curves();
  return outcome;
}

}  // namespace attractor::lab
