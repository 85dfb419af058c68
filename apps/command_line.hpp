// Words into a tool and its settings, and tools into help. Flags are "--name value" or
// "--name=value", those without a value "--name"; what has no name is a positional parameter.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "apps/tool.hpp"

namespace attractor::apps {

struct CommandLine {
  const Tool* tool = nullptr;  // none: print is all there is to do
  lab::Settings given{};
  std::string print{};  // help or version
};

/// Throws Error with one sentence on what cannot be understood. width: of the help.
CommandLine parse(std::span<const std::string> words, const std::vector<Tool>& tools,
                  std::size_t width);

}  // namespace attractor::apps
