// `attractor sweep` and `attractor merge`: a study of many units (study/sweep.hpp).
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace attractor::apps {

std::function<int()> add_sweep_command(CLI::App& app);
std::function<int()> add_merge_command(CLI::App& app);

}  // namespace attractor::apps
