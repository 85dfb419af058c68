// The registry: every command that computes, once. Command line, help, sweeps and Python read it;
// none of them knows a command by name. A new command is its file (setup, list(), ask(), its
// Command) and its line in registry.cpp.
#pragma once

#include <string>
#include <vector>

#include "attractor/commands/command.hpp"

namespace attractor::lab {

/// All, in the order of --help.
const std::vector<Command>& commands();
/// Throws Error naming all commands if there is none of this name.
const Command& command_named(const std::string& name);

/// All of them for other front ends: [{"name", "about", "examples", "parameters": described()}].
Json described_commands();

}  // namespace attractor::lab
