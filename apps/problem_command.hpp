// `attractor problem`: writes the training problems of the papers.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace attractor::apps {

/// Adds the subcommand; the returned function runs it after parsing and gives the exit status.
std::function<int()> add_problem_command(CLI::App& app);

}  // namespace attractor::apps
