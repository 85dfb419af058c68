// The commands of the registry (commands/registry.hpp) as subcommands of the program: their
// parameters are flags, and every one of them takes --out, --config, --threads, --json, --quiet and
// --no-figures, and --resume if it keeps checkpoints. One way from words to exit status for all.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <string>

namespace attractor::apps {

/// Adds all of them; what to call for the first word of each.
std::map<std::string, std::function<int()>> add_commands(CLI::App& app);

}  // namespace attractor::apps
