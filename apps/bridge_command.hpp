// `attractor bridge`: training and depth together, checkpoint by checkpoint.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace attractor::apps {

/// Adds the subcommand; the returned function runs it after parsing and gives the exit status.
std::function<int()> add_bridge_command(CLI::App& app);

}  // namespace attractor::apps
