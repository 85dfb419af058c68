// Runs gnuplot on a script (process.hpp), without the user's initialisation files.
#pragma once

#include <string>

namespace attractor::report {

/// An executable gnuplot is on PATH.
bool gnuplot_available();

/// What gnuplot writes to its standard output. Throws Error with its sentence if it is missing,
/// fails or writes nothing.
std::string run_gnuplot(const std::string& script);

}  // namespace attractor::report
