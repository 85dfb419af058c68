// A command that puts one question to theory: parameters in, an Answer out (experiment/answer.hpp).
// An experiment offers list(Parameters&) and ask(const Parameters&, const AskContext&); the rest,
// text, JSON, page, progress and exit status, is the same for all of them.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/parameter_options.hpp"
#include "attractor/experiment/answer.hpp"

namespace attractor::apps {

struct AnswerOptions {
  std::optional<std::string> out;
  std::uint64_t threads = 0;
  bool json = false, quiet = false;
};

using Ask = std::function<experiment::Answer(const experiment::AskContext&)>;

/// --out, --threads, --json, --quiet.
void add_answer_options(CLI::App& command, AnswerOptions& options);
/// Asks, prints, writes; the exit status.
int answer(const AnswerOptions& options, const experiment::Question& question, const Ask& ask);

/// `positional` names parameters that are given without their flag.
template <class Parameters>
std::function<int()> add_answer_command(CLI::App& parent, const std::string& program,
                                        const std::string& description, const std::string& footer,
                                        const std::vector<std::string>& positional = {}) {
  struct State {
    Parameters now{}, usual{};
    AnswerOptions options{};
  };
  auto state = std::make_shared<State>();
  const std::string name = program.substr(program.rfind(' ') + 1);
  CLI::App* command = parent.add_subcommand(name, description);
  for (const experiment::Parameter& parameter : list(state->now)) {
    const auto take = [state, parameter](const std::string& text) { parameter.set(text); };
    if (std::find(positional.begin(), positional.end(), parameter.name) != positional.end())
      command->add_option_function<std::string>(parameter.name, take, parameter.help)
          ->type_name("FILE");
    else
      add_parameter(*command, parameter, take);
  }
  add_answer_options(*command, state->options);
  command->footer(footer);
  return [state, program] {
    const experiment::Question question{
        .program = program, .now = list(state->now), .usual = list(state->usual)};
    return answer(state->options, question, [state](const experiment::AskContext& context) {
      return ask(state->now, context);
    });
  };
}

}  // namespace attractor::apps
