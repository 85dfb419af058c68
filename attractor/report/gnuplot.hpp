// Runs gnuplot on a script, without a shell and without the user's initialisation files. Its three
// streams are unnamed temporary files, not pipes: nothing can block and nobody receives SIGPIPE.
#pragma once

#include <string>

namespace attractor::report {

/// An executable gnuplot is on PATH.
bool gnuplot_available();

/// What gnuplot writes to its standard output. Throws Error with its sentence if it is missing,
/// fails or writes nothing.
std::string run_gnuplot(const std::string& script);

}  // namespace attractor::report
