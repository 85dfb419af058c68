// `attractor film`: a run of `attractor flow` as an animated SVG, GIF or WebM
// (commands/flow/film.hpp).
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace attractor::apps {

std::function<int()> add_film_command(CLI::App& app);

}  // namespace attractor::apps
