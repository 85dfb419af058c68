// Every command as a function of settings in words, for studies that call them many times
// (study.hpp): what `attractor NAME --setting value ... --json` would print, without a clock.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "attractor/experiment/answer.hpp"

namespace attractor::experiment {

using Settings = std::vector<std::pair<std::string, std::string>>;  // name of a parameter, its text

struct Outcome {
  Json summary;              // as --json, wall_seconds 0
  std::string failure{};     // what the numerics could not deliver; empty: delivered
  bool interrupted = false;  // the context asked to stop: nothing else is meant
};

enum class ParameterKind { unknown, whole, other };

struct Command {
  std::string name;                            // "flow", "reduce pair"
  std::function<void(const Settings&)> check;  // names and ranges; throws Error
  std::function<ParameterKind(const std::string& name)> kind;
  std::function<std::vector<std::string>(const Settings&)> files;  // that the settings name
  /// Throws Error on what is refused. `files_from`: where relative files are meant from.
  std::function<Outcome(const Settings&, const std::string& files_from, const AskContext&)> run;
};

/// Throws Error naming all commands if there is none of this name.
const Command& command_named(const std::string& name);

}  // namespace attractor::experiment
