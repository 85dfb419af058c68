// `attractor select`: which tokens does training select, and how sure is that?
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace attractor::apps {

/// Adds the subcommand; the returned function runs it after parsing and gives the exit status.
std::function<int()> add_select_command(CLI::App& app);

}  // namespace attractor::apps
