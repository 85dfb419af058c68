// `attractor reproduce`: the catalogue of published results (papers/catalogue.hpp).
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace attractor::apps {

std::function<int()> add_reproduce_command(CLI::App& app);

}  // namespace attractor::apps
