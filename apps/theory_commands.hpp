// The commands that answer one question: reduce, stability, context, forecast, meanfield,
// stationary, cluster, compare.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <string>

namespace attractor::apps {

/// By name, what each command does once the command line is parsed.
std::map<std::string, std::function<int()>> add_theory_commands(CLI::App& app);

}  // namespace attractor::apps
