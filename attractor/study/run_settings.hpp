// One call of a command by words alone, as a study makes many of them.
#pragma once

#include <string>

#include "attractor/commands/registry.hpp"

namespace attractor::lab {

struct Outcome {
  Json summary;              // as --json, wall_seconds 0, with the curves
  std::string failure{};     // what the numerics could not deliver; empty: delivered
  bool interrupted = false;  // the context asked to stop: nothing else is meant
};

/// Relative files of the settings are meant from `files_from` (empty: from here).
Outcome run_settings(const Command& command, const Settings& settings,
                     const std::string& files_from, const Context& context);

}  // namespace attractor::lab
